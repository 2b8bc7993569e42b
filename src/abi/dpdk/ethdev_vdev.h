/* SPDX-License-Identifier: BSD-3-Clause */
/* Umbrella of the two headers that a virtual ethdev driver includes. See dev_driver.h for why this file exists. */
#pragma once

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
