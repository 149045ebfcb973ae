"""The table of objectives."""

from dragoman.training.objectives.agreement import Agreement
from dragoman.training.objectives.hard import Marginal, Reinforce
from dragoman.training.objectives.minimum_risk import MinimumRisk
from dragoman.training.objectives.objective import Objective
from dragoman.training.objectives.scheduled_sampling import ScheduledSampling
from dragoman.training.objectives.segment import Segment
from dragoman.training.objectives.teacher_forcing import TeacherForcing

OBJECTIVES: dict[str, type[Objective]] = {
    "teacher_forcing": TeacherForcing,
    "scheduled_sampling": ScheduledSampling,
    "minimum_risk": MinimumRisk,
    "marginal": Marginal,
    "reinforce": Reinforce,
    "segment": Segment,
    "agreement": Agreement,
}
