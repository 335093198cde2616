"""Figures: a module a family, with a function ``draw_NAME(study)`` for each.

The function is given a `counterweight.reporting.numbers.StudyNumbers` and returns a
`counterweight.reporting.charts.forms.Drawing`, made with a canvas of
`counterweight.reporting.charts.forms`: its title says what was found, from the numbers that are
drawn. It is called once for each width, within `counterweight.reporting.charts.forms.look`, and
asks nothing of the names of methods and measures: their roles, options and declared labels
decide. Where there is nothing to draw it returns `counterweight.reporting.charts.forms.blank`.
The text under it, of a sentence or two, is an entry of the literal ``CAPTION_BY_NAME`` of its
module, or its ``CAPTION`` where a module holds one figure. All else is an entry in the registry
of figures.
"""
