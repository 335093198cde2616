"""What a study of offers gives away: offers for every person, within what was offered before."""
