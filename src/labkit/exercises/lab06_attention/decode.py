"""Lab 06, exercise 6.7: repair a broken speculative decoder, on toy models."""

from __future__ import annotations

from typing import Any

from labkit.contract.answer import encode
from labkit.contract.arrays import argument
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import FunctionKind
from labkit.exercises.lab06_attention import decode_functions as functions
from labkit.exercises.lab06_attention.objectives import ENGINE, SPECULATION
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

NEVER, SELDOM = functions.VOCABULARY, 6  # tokens after which the drafter errs


def _draw(draw: Draw) -> tuple[Given, ...]:
    rng = draw.rng
    return (
        Given("seed", rng.randrange(2**31), "", "seed of both models"),
        Given("wrong", rng.randint(5, 12), "tokens", "after which the drafter errs"),
        Given("start", rng.randrange(functions.VOCABULARY), "", "last token of the prompt"),
        Given("new_tokens", rng.randint(18, 28), "tokens", "to write"),
        Given("draft_tokens", rng.randint(3, 6), "tokens", "gamma"),
    )


def _call(seed: int, wrong: int, start: int, new_tokens: int, gamma: int) -> tuple[Any, ...]:
    target, draft = functions.toy_models(seed, wrong)
    prompt = [(start + 5) % functions.VOCABULARY, (start + 11) % functions.VOCABULARY, start]
    return encode(target), encode(draft), prompt, new_tokens, gamma


def _pack(g: Givens) -> tuple[Any, ...]:
    return _call(g.seed, g.wrong, g.start, g.new_tokens, g.draft_tokens)


def _edges(g: Givens) -> tuple[tuple[Any, ...], ...]:
    """A drafter that is always right, one that never is, one draft, one token, a long draft."""
    seed, start = int(g.seed) % 10_000, int(g.start)
    return (
        _call(seed, 0, start, 23, 4),
        _call(seed + 1, NEVER, start, 12, 4),
        _call(seed + 2, SELDOM, start, 20, 1),
        _call(seed + 3, SELDOM, start, 1, 5),
        _call(seed + 4, SELDOM, start, 25, 12),
    )


def _describe(args: tuple[Any, ...]) -> str:
    _, _, _, new_tokens, gamma = args
    target, draft = (argument(model).argmax(axis=1) for model in args[:2])
    right = float((target == draft).mean())
    if new_tokens == 1:
        return "a single new token"
    if right in (0.0, 1.0):
        return "a drafter that is always right" if right else "a drafter that is never right"
    return "one draft per round" if gamma == 1 else "a drafter that is sometimes right"


def _with(fault: str) -> Any:
    """The right function with one fault."""
    return lambda _g: lambda *args: functions.speculative_decode(*args, fault=fault)


def _breach(args: tuple[Any, ...], result: Any) -> tuple[Code, str] | None:
    """What a result is that no known mistake makes: its form, its length, its text, its counts."""
    target, draft, prompt, new_tokens, gamma = args
    text, gained = ([int(x) for x in part] for part in result)
    if len(text) != new_tokens:
        return Code.OTHER, (
            "The text is not new_tokens long. Rounds give different numbers of tokens: go on until "
            "there are enough, then cut."
        )
    if text != functions.one_by_one(target, draft, prompt, new_tokens, gamma)[0]:
        return Code.OTHER, (
            "The text is not what the target would write alone. Go through one round by hand: "
            "where does the text first depart from it?"
        )
    if sum(gained) != new_tokens:
        return Code.OTHER, "The text is right, but the numbers in `gained` do not add up to it."
    return None


def _as_printed(
    target: Any, draft: Any, prompt: list[int], new_tokens: int, gamma: int
) -> functions.Decoded:
    """The notebook's broken_decode."""
    text: list[int] = []
    gained: list[int] = []
    for _ in range(new_tokens // gamma):
        proposal = functions.drafted(draft, prompt[-1], gamma)
        said = functions.chosen(target, [prompt[-1], *proposal])
        new = [p for p, s in zip(proposal, said, strict=False) if p == s]
        text += new
        gained.append(len(new))
    return text, gained


DECODE = Exercise(
    id="6.7",
    title="Repair the decoder",
    objective=SPECULATION,
    points=3,
    tier=Tier.TRANSFER,
    kind=FunctionKind(
        signature="speculative_decode(target, draft, prompt, new_tokens, gamma)",
        doc="→ (text, gained): the new tokens, and how many of them each target pass gave.",
        arguments=(),
        pack=_pack,
        edges=_edges,
        describe=_describe,
        special=lambda args: args[3] == 1,
        plain="longer texts",
        rel_tol=1e-9,
        properties=(_breach,),
        no_end=(
            "Does every round give a token? Where the first proposal is refused, the target's own "
            "is left to add."
        ),
    ),
    statement=(
        "Write the decoder as it should be. It takes the two toy models, the prompt (a list of "
        "token numbers), how many tokens to write, and the draft length γ. It returns two lists, "
        "`(text, gained)`:\n\n"
        "- `text`: the new tokens, exactly `new_tokens` of them. They must be those that the "
        "target would write alone, greedily. What is too much at the end is cut off.\n"
        "- `gained`: for each pass of the target, how many tokens of `text` it gave. They add up "
        "to `new_tokens`.\n\n"
        "In each round the drafter proposes γ tokens. Then **one** pass of the target reads the "
        "last token and all proposals: `choices(target, [last, *proposal])`. Keep the proposals up "
        "to the first that the target would not have written. Then add the target's own token: in "
        "place of the refused one, or after the last if all were right.\n\n"
        "It is tried on ten prompts, with good and bad drafters. You may use `choices` from above."
    ),
    answer_name="speculative_decode",
    draw=_draw,
    reference=lambda _g: functions.speculative_decode,
    mistakes=(
        Mistake(
            Code.AS_PRINTED,
            "This is broken_decode as it stands. It begins every round at the end of the prompt, "
            "it keeps proposals behind a refused one, and it never adds the target's own token.",
            lambda _g: _as_printed,
        ),
        Mistake(
            Code.UNVERIFIED,
            "You keep every proposal. The text is the drafter's, not the target's: keep only what "
            "the target would have written.",
            _with("unverified"),
        ),
        Mistake(
            Code.OFF_BY_ONE,
            "You compare each proposal with the target's choice one place too late. What the "
            "target says after a token belongs beside the proposal that follows it: the first "
            "choice is the one after `last`.",
            _with("shifted"),
        ),
        Mistake(
            Code.PAST_REFUSAL,
            "You keep right proposals that stand behind a wrong one. They continued a text that "
            "does not exist: stop at the first refusal.",
            _with("past-refusal"),
        ),
        Mistake(
            Code.BONUS_FORGOTTEN,
            "When all proposals are right the pass has one more token to give: the target's "
            "choice after the last of them.",
            _with("no-bonus"),
        ),
        Mistake(
            Code.STALE_DRAFT,
            "The text is right, but it takes too many passes: the drafter begins at the end of the "
            "prompt in every round. It must go on from the last token that was kept.",
            _with("stale"),
        ),
        Mistake(
            Code.SLOWER,
            "The text is right, but each pass of the target gives one token. Let one pass check a "
            "whole proposal.",
            lambda _g: functions.one_by_one,
        ),
        Mistake(
            Code.OVERSHOOT,
            "The last round writes more than new_tokens. Cut off what is too much, in `text` and "
            "in `gained`.",
            _with("overshoot"),
        ),
    ),
    hints=(
        "Keep one list of new tokens. Its last one (or the prompt's last) is where the drafter "
        "and the target go on.",
        "Round: propose γ tokens one after the other; one pass of the target; count the equal "
        "ones up to the first difference; add those and choices[count]; cut; note how many.",
        "said = choices(target, [last, *proposal]); count = first i with proposal[i] != said[i], "
        "else γ; new = [*proposal[:count], said[count]]",
    ),
    solution='''\
def speculative_decode(target, draft, prompt, new_tokens, gamma):
    """→ (text, gained): the new tokens, and how many of them each target pass gave."""
    text, gained = [], []
    while len(text) < new_tokens:
        last = text[-1] if text else prompt[-1]
        proposal = []
        for _ in range(gamma):
            proposal += choices(draft, [proposal[-1] if proposal else last])
        said = choices(target, [last, *proposal])
        count = 0
        while count < gamma and proposal[count] == said[count]:
            count += 1
        new = [*proposal[:count], said[count]][: new_tokens - len(text)]
        text += new
        gained.append(len(new))
    return text, gained''',
    praise=(
        "Greedy speculation changes nothing in the text: a bad drafter costs time, never quality."
    ),
    claim="E120",
    forbids=ENGINE,
)
