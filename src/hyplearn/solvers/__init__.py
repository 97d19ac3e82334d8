"""Learning w: functions of rows, labels and weights; they know nothing of the ball."""
