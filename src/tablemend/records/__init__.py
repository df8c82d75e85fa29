"""What flows through tablemend: examples, answers and findings; claims, evidence and verdicts."""

from tablemend.records.answers import Answer, ContextKind, Finding, FinishReason, Judgement, Share
from tablemend.records.claims import (
    CLAIM_ERROR_NAMES,
    CLAIM_ERRORS,
    CLAIM_KINDS,
    NO_CLAIMS,
    NOTHING,
    VERDICTS,
    Claim,
    ClaimError,
    ClaimKind,
    Document,
    Evidence,
    Usage,
    Verdict,
    VerdictName,
    Verification,
)
from tablemend.records.examples import (
    CONTEXT_KINDS,
    Call,
    CallVerdict,
    Computed,
    Condition,
    Constraints,
    Example,
    Fact,
    Mention,
    SortOrder,
)
from tablemend.records.metrics import (
    ABSTENTION,
    ANSWERED_BOTH,
    UNMOVED,
    UNSCORED,
    Metric,
    is_flawless,
    total,
)
from tablemend.records.relation import RELATIONS, UNDECIDED, Relation, relation
from tablemend.records.sample_view import Mark, SampleView
