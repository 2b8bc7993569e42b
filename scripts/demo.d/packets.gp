# SPDX-License-Identifier: BSD-3-Clause
# Packets per 10 ms, stacked by the sub-device that carried them. Given by the caller: data, marks, image, names, heading, until.
set terminal png size 1600,500 font "sans,10"
set output image
set title heading noenhanced offset 0,1
set xlabel "seconds"
set ylabel "packets per 10 ms"
set yrange [0:*]
set xrange [0:until]
set key outside right top noenhanced
set grid y
set style fill solid 0.8 noborder
set boxwidth 0.01 absolute
array colour[3] = ["#3465a4", "#f57900", "#73d216"]
load marks
sum_to(n) = sum [c = 2:n] column(c)
last = words(names)
# The highest stack first, so that the lower ones are drawn over it.
plot for [i = last:1:-1] data using 1:(sum_to(i + 1)) with boxes lc rgb colour[i] title word(names, i)
