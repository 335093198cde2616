"""One module for each figure, with ``draw(study)`` and a literal ``CAPTION`` of a sentence or two.

``draw`` is given a `counterweight.reporting.numbers.StudyNumbers` and returns a
`counterweight.reporting.charts.drawing.Drawing`, made with a canvas of
`counterweight.reporting.charts.kit`: its title says what was found, from the numbers that are
drawn. It is called once for each width, within `counterweight.reporting.charts.style.look`, and
asks nothing of the names of methods and measures: their roles, options and declared labels
decide. Where there is nothing to draw it returns `counterweight.reporting.charts.drawing.blank`.
All else is an entry in the registry of figures.
"""
