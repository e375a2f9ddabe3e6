"""Methods of a model that answer the questions of the table; their signatures are in the stub."""

from headlight.catalogue.questions import QUESTIONS


class QuestionMethods:
    """Base of models that answer questions: a method for each row of the table."""


for _row in QUESTIONS.values():
    setattr(QuestionMethods, _row.name, _row.answer)
