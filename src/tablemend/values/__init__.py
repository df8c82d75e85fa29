"""When two values are the same: numbers, scales, units, dates, blanks and text."""

from tablemend.values.blanks import is_blank
from tablemend.values.cells import Value, is_numeric, read_value, same_value, standardise
from tablemend.values.dates import parse_date
from tablemend.values.inclusion import includes
from tablemend.values.numbers import Number, parse_number
from tablemend.values.units import Unit, header_unit
