"""Codes of misconceptions and of general remarks: what a wrong answer says about its maker.

A code is stable for ever: gradebooks, item statistics and the question bank count by it.
An exercise's known mistake pairs a code with the sentence that this learner deserves.
"""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """Every code that an outcome may carry."""

    NONE = ""

    # Reading Python, rates and axes
    LIMIT_LEFT_OUT = "limit-left-out"  # < where <= stands
    CONDITION_IGNORED = "condition-ignored"  # as if the filter were not there
    COUNT_NOT_SUM = "count-not-sum"
    AMOUNT_NOT_RATE = "amount-not-rate"  # work done, where work per second is meant
    BYTES_NOT_FLOP = "bytes-not-flop"  # moving data taken for calculating
    CLOCK_NOT_WORK = "clock-not-work"  # cycles taken for operations
    LINEAR_READING = "linear-reading"  # a logarithmic axis read as a linear one

    # Facts about silicon
    SPARSE_PEAK = "sparse-peak"  # used the 2:4-sparsity figure as the dense peak
    WRONG_CHIP = "wrong-chip"  # another accelerator's number (A10 for A10G, L4 for L40S)
    ONE_DEVICE = "one-device"  # one chip's figure where the instance pools several
    CORES_NOT_CHIPS = "cores-not-chips"  # counted cores that share one chip's memory

    # Units
    GB_AS_GIB = "gb-as-gib"  # mixed 1e9 and 2**30
    UNITS_MIXED = "units-mixed"  # bits and bytes in one sum
    BITS_AS_BYTES = "bits-as-bytes"
    PREFIX = "prefix"  # off by a power of a thousand
    INVERTED = "inverted"  # the reciprocal

    # Roofline
    WRONG_ROOF = "wrong-roof"  # the higher of two ceilings
    PEAK_FORGOTTEN = "peak-forgotten"  # memory alone, no compute roof
    SUM_OF_ROOFS = "sum-of-roofs"  # added (or averaged) two ceilings
    MAC_ONE_FLOP = "mac-one-flop"  # a multiply-accumulate is two FLOP
    BYTES_PER_WEIGHT = "bytes-per-weight"  # another number format's width
    BATCH_IGNORED = "batch-ignored"
    WEIGHTS_PER_SEQUENCE = "weights-per-sequence"  # weights read once per sequence, not per step

    # Bytes
    EMBEDDING_STREAMED = "embedding-streamed"  # counted the input embedding as read every step
    HEAD_NOT_STREAMED = "head-not-streamed"  # left out the output head as well
    EXPERTS_ONLY = "experts-only"  # counted the experts and nothing beside them
    TOTAL_NOT_ACTIVE = "total-not-active"  # all experts where only the routed ones are read
    ACTIVE_NOT_TOTAL = "active-not-total"
    SHARED_PARTS_SCALED = "shared-parts-scaled"  # scaled attention and embeddings as if experts
    NAME_NOT_SIZE = "name-not-size"  # took the model's name for its parameter count
    KV_FORGOTTEN = "kv-forgotten"
    CONTEXT_FORGOTTEN = "context-forgotten"  # one token's cache where the whole context is read
    QUERY_HEADS = "query-heads"  # query heads where KV heads count
    HEAD_DIM_GUESSED = "head-dim-guessed"  # hidden size / heads, or the hidden size, for head_dim
    ONE_TENSOR = "one-tensor"  # K without V
    PER_LAYER = "per-layer"  # one layer's bytes as the model's
    MLA_DOUBLED = "mla-doubled"  # the one latent counted twice, as K and V
    MLA_PER_HEAD = "mla-per-head"  # a latent for each head where all share one
    ROPE_FORGOTTEN = "rope-forgotten"  # the latent without its position part
    MLA_IGNORED = "mla-ignored"  # full K and V where one latent is cached
    KV_AS_WEIGHTS = "kv-as-weights"  # the cache in the weights' number format
    TYING_IGNORED = "tying-ignored"  # one vocabulary table counted twice, or two as one
    MLP_TWO_MATRICES = "mlp-two-matrices"  # a gated MLP has three
    NORMS_FORGOTTEN = "norms-forgotten"
    FINAL_NORM = "final-norm"  # only the last norm is missing

    # Memory budget
    WEIGHTS_FORGOTTEN = "weights-forgotten"
    OVERHEAD_FORGOTTEN = "overhead-forgotten"  # the engine's own memory
    UTILIZATION_FORGOTTEN = "utilization-forgotten"  # all of the card, not the engine's share
    NO_RESERVE = "no-reserve"  # neither of the two
    SHARE_OF_FREE = "share-of-free"  # the share of what is free after loading, not of the card
    NOT_WHOLE = "not-whole"  # decimals where whole things are counted
    ROUNDED = "rounded"  # the right number, rounded more than was asked

    # Time and rate
    OTHER_QUANTITY = "other-quantity"  # a step of the way handed in as the answer
    PER_HOUR_PER_SECOND = "per-hour-per-second"
    ONE_SEQUENCE = "one-sequence"  # one sequence's rate where the batch's was asked
    TIME_NOT_RATE = "time-not-rate"  # seconds where tokens per second were asked, or the reverse

    # Measuring and explaining
    EXPECTATION_NOT_MEASUREMENT = "expectation-not-measurement"  # what theory says, not the record
    OVER_THE_ROOF = "over-the-roof"  # faster than physically possible
    UNSUPPORTED_CAUSE = "unsupported-cause"  # the record does not bear the chosen explanation
    NOT_YOUR_RECORD = "not-your-record"

    # Schedulers and allocators
    SLOTS_EXCEEDED = "slots-exceeded"  # more sequences at once than there are slots
    STARVED = "starved"  # a request never runs, or waits behind later ones
    IDLE_SLOT = "idle-slot"  # a slot stays empty while somebody waits (static batching)
    FINISHED_LATE = "finished-late"  # holds its slot after its last token
    FINISHED_EARLY = "finished-early"  # leaves before its last token
    WORK_LOST = "work-lost"  # preempted work is not done again
    WORK_TWICE = "work-twice"  # the same token twice
    OVER_BUDGET = "over-budget"  # more KV blocks in use than there are
    BLOCK_LEAKED = "block-leaked"  # a freed block never comes back
    BLOCK_SHARED = "block-shared"  # one block with two owners who did not ask to share it
    DOUBLE_FREE = "double-free"
    FREED_IN_USE = "freed-in-use"  # a shared block freed while another still reads it
    NOT_COPIED = "not-copied"  # written to a shared block without a copy of one's own
    BLOCK_COUNT = "block-count"  # too many or too few blocks for so many tokens
    REFUSED = "refused"  # says no where there is room
    SLOWER = "slower"  # needs more steps than the rule allows
    HALF_DONE = "half-done"  # a call that was refused has taken something all the same
    NOT_SHARED = "not-shared"  # a copy where the original was to be shared

    # Numbers in few bits
    PER_TENSOR = "per-tensor"  # one scale where each channel or group has its own
    PER_CHANNEL = "per-channel"  # one scale a row where each group has its own
    WRONG_AXIS = "wrong-axis"
    ASYMMETRIC = "asymmetric"  # a range of 256 levels where the symmetric one has 255
    TRUNCATED = "truncated"  # cut off where rounding is asked
    NOT_CLIPPED = "not-clipped"
    ERROR_BOUND = "error-bound"  # |w - w_hat| above half a step
    SCALES_FORGOTTEN = "scales-forgotten"  # the integers' bits alone
    ZERO_FORGOTTEN = "zero-forgotten"  # the scale counted, the zero point not
    ZERO_AS_SCALE = "zero-as-scale"  # a zero point as wide as the scale
    NOT_DIVIDED = "not-divided"  # the largest weight itself handed in as the step
    PER_WEIGHT = "per-weight"  # a scale for each weight, not for each group
    HEAD_QUANTIZED = "head-quantized"  # the vocabulary tables in the small format as well
    GRID_IGNORED = "grid-ignored"  # a copy that was rounded already, taken for the original
    DTYPE = "dtype"  # right numbers, stored in the wrong type
    SHAPE = "shape"

    # Attention
    ONE_HEAD = "one-head"  # one head's score matrix where each head has one
    ALL_LAYERS = "all-layers"  # added up what is there one layer at a time
    NOT_SQUARED = "not-squared"  # n where n squared belongs
    KV_HEADS = "kv-heads"  # KV heads where query heads count
    SCALE_FORGOTTEN = "scale-forgotten"  # scores not divided by the root of head_dim
    MAX_FORGOTTEN = "max-forgotten"  # exp() of a score that nothing was subtracted from
    START_AT_ZERO = "start-at-zero"  # the largest score so far begins at 0, not at -inf
    NOT_RESCALED = "not-rescaled"  # sums of earlier blocks left at the old largest score
    SUM_NOT_RESCALED = "sum-not-rescaled"
    OUTPUT_NOT_RESCALED = "output-not-rescaled"
    NOT_NORMALIZED = "not-normalized"
    AVERAGED_BLOCKS = "averaged-blocks"  # a softmax of each block by itself
    LAST_BLOCK = "last-block"  # the block that is not full is missing

    # Speculative decoding
    LINEAR = "linear"  # alpha times gamma, as if each draft stood by itself
    PAST_REFUSAL = "past-refusal"  # keeps what stands behind a refused token
    BONUS_FORGOTTEN = "bonus-forgotten"  # the target's own token
    ALL_ACCEPTED = "all-accepted"  # the best case taken for the average
    FREE_DRAFT = "free-draft"  # drafting costs nothing
    COST_ONCE = "cost-once"  # one draft's cost where there are gamma of them
    VERIFY_FORGOTTEN = "verify-forgotten"  # the target's own pass left out
    VERIFY_IS_FREE = "verify-is-free"  # a pass over many tokens taken for one step
    SIZE_NOT_TIME = "size-not-time"  # the ratio of sizes where times count
    UNVERIFIED = "unverified"  # the drafter's text handed on
    OFF_BY_ONE = "off-by-one"
    STALE_DRAFT = "stale-draft"  # drafts from where the last round began
    OVERSHOOT = "overshoot"  # more than was asked for
    AS_PRINTED = "as-printed"  # a published or given faulty answer, handed in as it stands
    NOT_BEST = "not-best"  # a choice that is possible, where another is better

    # Memory and time of an answer
    MEMORY_LIMIT = "memory-limit"  # holds an n-by-n matrix where a few rows are enough
    NO_END = "no-end"  # had not come back in time

    # Intervals and decisions
    UNPAIRED = "unpaired"  # two independent samples where each run has its partner
    ONE_SIDED = "one-sided"
    SPREAD_NOT_ERROR = "spread-not-error"  # standard deviation for the mean's standard error
    OTHER_LEVEL = "other-level"  # 90 % or 99 % where 95 % is asked
    NORMAL_NOT_T = "normal-not-t"  # 1.96 with a handful of runs
    FACTOR_NOT_RISE = "factor-not-rise"  # the one not subtracted from a ratio
    BASE_TWO = "base-two"  # a power of two where the logarithm was natural
    RAW_MEANS = "raw-means"  # the two sides' own intervals, not that of their difference
    ENDS_SWAPPED = "ends-swapped"
    OVER_THE_BUDGET = "over-the-budget"  # chose what its own budget forbids
    NOT_SMALLEST = "not-smallest"  # a smaller one keeps the budget as well
    INTERVAL_IGNORED = "interval-ignored"  # decided by the point, where the interval reaches over

    # Remarks that fit any exercise
    DIMENSION = "dimension"
    UNIT_UNKNOWN = "unit-unknown"
    MAGNITUDE = "magnitude"
    SIGN = "sign"
    CLOSE = "close"
    NOT_A_NUMBER = "not-a-number"
    TYPE = "type"
    NOT_FINITE = "not-finite"
    RETURNS_NONE = "returns-none"
    RAISES = "raises"
    TYPED_CONSTANT = "typed-constant"
    SCALAR_ONLY = "scalar-only"  # breaks on arrays
    FORBIDDEN_MODULE = "forbidden-module"
    OPTION_UNKNOWN = "option-unknown"
    AXIS_SCALE = "axis-scale"
    AXIS_LABEL = "axis-label"
    SERIES_MISSING = "series-missing"
    NOT_STACKED = "not-stacked"
    UNPLAUSIBLE = "unplausible"
    OTHER = "other"
