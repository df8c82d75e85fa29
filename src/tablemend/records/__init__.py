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
    RELATIONS,
    TRACE_ERRORS,
    UNDECIDED,
    UNMOVED,
    UNSCORED,
    Mark,
    Metric,
    Relation,
    SampleView,
    is_flawless,
    relation,
    total,
)
