"""Categories that everybody knows all of: where some are admitted, the others are not."""

from __future__ import annotations

from collections.abc import Iterable

from tablemend.datasets.tablehallu.topic_pool import SUB_CATEGORIES

# Spellings of one category stand between slashes; no two categories of a list overlap.
_LISTS = (
    "Africa|Asia|Europe|North America|South America|Oceania",
    "Argentina|Australia|Austria|Belgium|Brazil|Bulgaria|Canada|Chile|China/People's Republic of "
    "China/PRC|Colombia|Croatia|Czech Republic/Czechia|Denmark|Egypt|Estonia|Ethiopia|Finland|"
    "France|Germany|Ghana|Greece|Hungary|Iceland|India|Indonesia|Iran|Ireland|Israel|Italy|Japan|"
    "Kenya|Latvia|Lithuania|Malaysia|Mexico|Morocco|Netherlands/The Netherlands|New Zealand|"
    "Nigeria|Norway|Pakistan|Peru|Philippines/The Philippines|Poland|Portugal|Romania|Russia/"
    "Russian Federation|Saudi Arabia|Singapore|Slovakia|Slovenia|South Africa|South Korea/Korea/"
    "Republic of Korea|Spain|Sweden|Switzerland|Thailand|Tunisia|Turkey/Türkiye|Ukraine|United "
    "Arab Emirates/UAE|United Kingdom/UK/U.K./Great Britain/Britain|United States/USA/US/U.S./"
    "U.S.A./United States of America|Uruguay|Venezuela|Vietnam/Viet Nam",
    "January|February|March|April|May|June|July|August|September|October|November|December",
    "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday",
    "Q1|Q2|Q3|Q4",
    "Spring|Summer|Autumn/Fall|Winter",
    "Low|Medium/Moderate|High",
    "Small|Medium|Large",
    "Gold|Silver|Bronze",
    "Male/Men|Female/Women",
    "Yes|No",
    "Public|Private",
    "Domestic|International",
    "Active|Inactive",
    "Won|Lost|Drawn",
    "Win|Loss|Draw",
    "Winner|Runner-up",
    "Nominated|Won",
    "Clay|Grass|Hard|Carpet",
    "Approved|Rejected|Withdrawn",
    "Completed/Complete/Finished|Planned/Proposed|Ongoing/In progress/Under construction|"
    "Suspended|Cancelled/Canceled",
    "Solar|Wind|Hydro/Hydropower/Hydroelectric|Nuclear|Geothermal|Coal|Natural Gas/Gas|Biomass",
    "Electric|Hybrid|Petrol/Gasoline|Diesel|Hydrogen",
)
_CLOSED = tuple(
    tuple(tuple(category.split("/")) for category in listing.split("|")) for listing in _LISTS
)
# The built-in topics have lists of their own, each good under its header alone.
_BY_HEADER = tuple(
    (field.name.casefold(), tuple((option,) for option in field.options))
    for sub in SUB_CATEGORIES
    for field in sub.fields
    if field.kind == "choice"
)


def others_of(header: str, values: Iterable[str]) -> tuple[str, ...]:
    """The further categories of the list that all the given ones are in; empty if none is.

    >>> others_of("Medal", ["Gold", "Bronze"])
    ('Silver',)
    """
    wanted = {value.casefold() for value in values}
    known = [categories for name, categories in _BY_HEADER if name == header.casefold()]
    for categories in (*_CLOSED, *known):
        taken, others = set(), []
        for spellings in categories:
            found = wanted.intersection(spelling.casefold() for spelling in spellings)
            taken |= found
            if not found:
                others.append(spellings[0])
        if wanted and taken == wanted:
            return tuple(others)
    return ()
