from tests.grading.fixtures import grade, outcomes, rows, sandbox

__all__ = ["grade", "outcomes", "rows", "sandbox"]
