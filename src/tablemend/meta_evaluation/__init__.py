"""Does the metric agree with people?"""
