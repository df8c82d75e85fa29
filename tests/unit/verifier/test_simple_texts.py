"""Short texts over small tables: what is true is not called wrong, and the other way round."""

from __future__ import annotations

import pytest

from tablemend.api import mend, verify

STAFF = """Name,Department,Salary,Age,Start date,City
Anna Schmidt,Engineering,82000,34,2019-03-01,Berlin
Bob Miller,Sales,61000,45,2015-07-15,Hamburg
Carla Rossi,Engineering,91000,39,2017-01-10,Munich
David Chen,Marketing,58000,29,2021-09-01,Berlin
Eva Novak,Sales,64000,51,2010-05-20,Cologne
"""
REGIONS = """Region,Product,Units,Revenue (USD)
North,Widget,"1,200","$48,000"
South,Widget,950,"$38,000"
East,Gadget,"2,310","$115,500"
West,Gadget,"1,780","$89,000"
Central,Gizmo,,"$12,300"
"""
QUARTERS = """Quarter,Revenue (€m),Margin,Customers
Q1 2023,10.5,12.0%,1500
Q2 2023,11.2,11.5%,1620
Q3 2023,9.8,10.1%,1580
Q4 2023,13.4,14.2%,1750
Total,44.9,,
"""
MODELS = """Model,Accuracy,F1,Latency (ms),Params
BERT-base,84.2,82.1,12,110M
BERT-large,86.5,84.9,31,340M
GPT-2,79.3,77.0,45,1.5B
T5-small,81.0,79.8,9,60M
"""
CITIES = """City,Country,Population,Mayor
Paris,France,2102650,Anne Hidalgo
Lyon,France,522250,Grégory Doucet
Berlin,Germany,3755251,Kai Wegner
Munich,Germany,1512491,Dieter Reiter
Rome,Italy,2748109,Roberto Gualtieri
"""
LEAGUE = """Team,Wins,Points
Alba,12,41
Sella,11,37
Vey,3,12
"""
ACCOUNTS = """($ in millions),2023,2022,2021
Revenue,"1,250.4","1,180.2","1,045.9"
Cost of sales,(810.2),(790.5),(702.3)
Gross profit,440.2,389.7,343.6
Operating expenses,(300.1),(410.0),(290.4)
Operating income,140.1,(20.3),53.2
"""


def is_left_alone(text: str, table: str) -> bool:
    """Whether nothing is called wrong, and nothing changed."""
    return not verify(text, table).errors and mend(text, table).text == text


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (REGIONS, "The top two regions had total revenue of $204,500."),
        (REGIONS, "The first three regions had total revenue of $201,500."),
        (REGIONS, "The coastal regions generated total revenue of $204,500."),
        (REGIONS, "Average revenue of the top three regions was $84,167."),
        (QUARTERS, "Total revenue in the first half was €21.7m."),
        (QUARTERS, "Second-half revenue totalled €23.2m."),
        (STAFF, "The two engineers earn 173,000 in total."),
        (STAFF, "The two salespeople earn a total of 125,000."),
        (STAFF, "The men earn 119,000 in total."),
        (STAFF, "The total salary of the over-40s is 125,000."),
        (STAFF, "The three women earn an average of 79,000."),
        (LEAGUE, "The other two teams have a total of 49 points."),
        (LEAGUE, "The top two won 78 points in total."),
        (CITIES, "The total population of the two largest cities is 6,503,360."),
        (ACCOUNTS, "Total costs in 2023 were $1,110.3 million."),
    ],
)
def test_a_total_of_rows_that_are_not_all_is_none_of_all(table: str, text: str) -> None:
    assert is_left_alone(text, table)


@pytest.mark.parametrize(
    ("table", "text", "right"),
    [
        (REGIONS, "Total revenue was $312,800.", "$302,800"),
        (STAFF, "The sales team earns 135,000 in total.", "125,000"),
        (LEAGUE, "The three teams have 95 points in total.", "90"),
    ],
)
def test_a_total_of_all_rows_is_mended(table: str, text: str, right: str) -> None:
    assert right in mend(text, table).text


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (STAFF, "Both engineers earn more than 80,000."),
        (MODELS, "There are two BERT models."),
        (MODELS, "There are two encoder models."),
        (CITIES, "Three cities are capitals."),
    ],
)
def test_a_count_of_a_group_that_was_not_read_is_not_wrong(table: str, text: str) -> None:
    assert is_left_alone(text, table)
