"""`ambulo eval` of the policies of a game: beside random, scripted and recorded play."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from ambulo.common.find_model import find_model
from ambulo.configs.choices import ENGINE_PLACES
from ambulo.configs.errors import AmbuloError, ConfigError, RenderError
from ambulo.configs.godot import GameConfig
from ambulo.evaluate.game.agents import AgentsBatch
from ambulo.evaluate.game.demonstrations import read_demonstrations
from ambulo.evaluate.game.engines import (
    check_drawing,
    check_kinds,
    open_agents,
    open_drawn,
    placed_config,
)
from ambulo.evaluate.game.film import write_game_film
from ambulo.evaluate.game.play import (
    EpisodeTable,
    Player,
    PolicyPlayer,
    RandomPlayer,
    ScriptedPlayer,
    play,
    usual_opponent,
)
from ambulo.evaluate.game.scores import (
    COLUMNS,
    HEADLINE,
    breakdowns_of,
    joined,
)
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest, episode_bars
from ambulo.evaluate.shared.result import POLICY, episode_rows, measured
from ambulo.policies.agents.game import GameAgent, load_game_agent

RANDOM, SCRIPTED, HUMAN = "random", "scripted", "human"
TEST_SEED = 2_000_000
"""Added to `--seed`: no training uses such seeds of episodes."""


def run(request: EvalRequest) -> EvalOutcome:
    """Play episodes with the policy and each baseline."""
    args, file = request.args, request.model_file
    agent = load_game_agent(file)
    given = {
        key: getattr(args, key) for key in (*ENGINE_PLACES, "scene", "godot_engines")
    }
    config = placed_config(agent, file, given)
    demos = request.args.demos
    names = [POLICY, *request.baselines]
    if HUMAN in names and demos is None:
        if args.baselines is not None and HUMAN in args.baselines:
            raise ConfigError(
                "--baselines human: name the recordings with --demos FOLDER"
            )
        names.remove(HUMAN)
    film = None
    if args.video is not None:  # what cannot draw is refused before the episodes
        film = _filmed(request, agent, config.environment)
    batch = open_agents(config.environment, seed=args.seed)
    try:
        check_kinds(agent.kinds, batch.kinds, str(file))
        if SCRIPTED in names and not batch.has_script:
            names.remove(SCRIPTED)
        played = _played(request, agent, batch, names)
    finally:
        batch.close()
    if HUMAN in names:
        recorded = read_demonstrations(demos, agent.kinds)
        played[HUMAN] = {kind: demo.table for kind, demo in recorded.items()}
    evaluation = request.result(
        {
            name: measured(COLUMNS, joined(tables), args.seed)
            for name, tables in played.items()
        },
        COLUMNS,
        f"{request.episodes} episodes or more of each kind of agent, as many for each",
        headline=HEADLINE,
        breakdowns=breakdowns_of(played, args.seed),
        rows=episode_rows(
            {
                name: [row | {"kind": k} for k, t in tables.items() for row in t.rows()]
                for name, tables in played.items()
            }
        ),
    )
    facts = {
        "scene": config.environment.scene or "main scene of the project",
        "kinds of agents": ", ".join(kind.name for kind in agent.kinds),
    }
    return EvalOutcome(evaluation, facts=facts, film=film)


def _filmed(
    request: EvalRequest, agent: GameAgent, config: GameConfig
) -> Callable[[Path, Console], None]:
    """Return what films the first evaluated episode of the policy.

    Raises:
        RenderError: No engine can draw.
    """
    check_drawing(config)
    args, width = request.args, agent.policy.width

    def film(path: Path, console: Console) -> None:
        source, seed = str(request.model_file), args.seed + TEST_SEED
        try:
            batch = open_drawn(agent, config, source, seed=seed)
            with batch.game:
                opponent = _opponent(args.opponent, batch, args.seed, width)
                player = PolicyPlayer(agent, deterministic=args.deterministic)
                write_game_film(path, batch, player, opponent)
        except RenderError:
            raise
        except AmbuloError as error:
            raise RenderError(str(error)) from error

    return film


def _played(
    request: EvalRequest, agent: GameAgent, batch: AgentsBatch, names: list[str]
) -> dict[str, Mapping[str, EpisodeTable]]:
    """Return the tables of those who play, by agent and kind."""
    args, width = request.args, agent.policy.width
    players: dict[str, Player] = {
        POLICY: PolicyPlayer(agent, deterministic=args.deterministic),
        RANDOM: RandomPlayer(args.seed, width),
        SCRIPTED: ScriptedPlayer(width),
    }
    players = {name: players[name] for name in names if name in players}
    first_team = batch.team == 0
    played: dict[str, Mapping[str, EpisodeTable]] = {}
    total = request.episodes * len(batch.kinds)
    with episode_bars(players, total) as progress:
        for name, player in players.items():
            batch.seed([args.seed + TEST_SEED + row for row in range(batch.num_envs)])
            opponent = _opponent(args.opponent, batch, args.seed, width)
            played[name] = play(
                batch, player, opponent, first_team, request.episodes,
                lambda count, name=name: progress(name, count),  # type: ignore[misc]
            )  # fmt: skip
    return played


def _opponent(name: str | None, batch: AgentsBatch, seed: int, width: int) -> Player:
    """Return who plays the teams that are not measured."""
    if name is None:
        return usual_opponent(batch, seed + 1, width)
    if name == RANDOM:
        return RandomPlayer(seed + 1, width)
    if name == SCRIPTED:
        if not batch.has_script:
            raise ConfigError("--opponent scripted: no agent has get_scripted_action()")
        return ScriptedPlayer(width)
    file = find_model(str(name))
    other = load_game_agent(file)
    check_kinds(other.kinds, batch.kinds, str(file))
    return PolicyPlayer(other)
