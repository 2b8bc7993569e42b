#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares a table of src/abi (fields_*.inc) with an object's debug information: every field of every struct that
src/abi/dpdk declares, bit-fields included, and no other.

Usage: check_fields.py OBJECT SHIMS TABLE     OBJECT is fields.cpp, compiled with all types in its debug information
       check_fields.py --print OBJECT SHIMS   prints the table; only that of DPDK's own headers is worth keeping
"""

import pathlib
import re
import sys

from elftools.elf.elffile import ELFFile

HEAD = "// SPDX-License-Identifier: BSD-3-Clause"


def declared_structs(shims):
    """The structs that our headers define."""
    names = []
    for header in sorted(pathlib.Path(shims).glob("*.h")):
        names += re.findall(r"^struct (?:__rte_cache_aligned )?(\w+) \{", header.read_text(encoding="utf-8"), re.MULTILINE)
    return names


def name_of(die):
    return die.attributes["DW_AT_name"].value.decode() if "DW_AT_name" in die.attributes else None


def size_of(die):
    """Size of a type, in bytes."""
    while True:
        if die.tag == "DW_TAG_array_type":
            element = size_of(die.get_DIE_from_attribute("DW_AT_type"))
            for dimension in die.iter_children():
                attributes = dimension.attributes
                count = attributes["DW_AT_count"].value if "DW_AT_count" in attributes else (
                    attributes["DW_AT_upper_bound"].value + 1)
                element *= count
            return element
        if "DW_AT_byte_size" in die.attributes:
            return die.attributes["DW_AT_byte_size"].value
        if die.tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type"):
            return 8
        die = die.get_DIE_from_attribute("DW_AT_type")


def rows_of(die):
    name = name_of(die)
    yield f"HOLDFAST_SIZE({name}, {die.attributes['DW_AT_byte_size'].value})"
    for member in die.iter_children():
        if member.tag != "DW_TAG_member":
            continue
        field, attributes = name_of(member), member.attributes
        if "DW_AT_bit_size" in attributes:
            yield (f"HOLDFAST_BITS({name}, {field}, {attributes['DW_AT_data_bit_offset'].value}, "
                   f"{attributes['DW_AT_bit_size'].value})")
        else:
            size = size_of(member.get_DIE_from_attribute("DW_AT_type"))
            yield f"HOLDFAST_FIELD({name}, {field}, {attributes['DW_AT_data_member_location'].value}, {size})"


def table_of(object_file, shims):
    wanted = declared_structs(shims)
    found = {}
    with open(object_file, "rb") as file:
        for unit in ELFFile(file).get_dwarf_info().iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                if (die.tag == "DW_TAG_structure_type" and name_of(die) in wanted
                        and "DW_AT_declaration" not in die.attributes):
                    found[name_of(die)] = list(rows_of(die))
    # In the order of our headers; a struct that only another ABI has is in neither.
    return [row for name in wanted for row in found.get(name, [])]


def main():
    arguments = sys.argv[1:]
    if len(arguments) != 3:
        sys.exit(__doc__)
    if arguments[0] == "--print":
        print("\n".join([HEAD, *table_of(*arguments[1:])]))
        return 0
    told = table_of(*arguments[:2])
    kept = [line for line in pathlib.Path(arguments[2]).read_text(encoding="utf-8").splitlines() if line != HEAD]
    wrong = [f"only in {arguments[2]}: {row}" for row in kept if row not in told]
    wrong += [f"only in the headers: {row}" for row in told if row not in kept]
    if not wrong and told != kept:
        wrong = ["the rows are in another order"]
    print("\n".join(wrong) if wrong else f"{len(told)} rows agree with {arguments[2]}")
    return 1 if wrong or not told else 0


if __name__ == "__main__":
    sys.exit(main())
