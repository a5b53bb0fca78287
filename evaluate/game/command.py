"""`ambulo eval` of the policies of a game: beside random, scripted and recorded play."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from ambulo.common.find_model import find_model
from ambulo.common.run_folder import RunFolder
from ambulo.configs.base import load_json
from ambulo.configs.choices import ENGINE_PLACES
from ambulo.configs.errors import AmbuloError, ConfigError
from ambulo.configs.godot import GodotConfig
from ambulo.evaluate.game.agents import AgentsBatch
from ambulo.evaluate.game.demonstrations import read_demonstrations
from ambulo.evaluate.game.engines import check_kinds, open_agents
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

log = logging.getLogger(__name__)

RANDOM, SCRIPTED, HUMAN = "random", "scripted", "human"
TEST_SEED = 2_000_000
"""Added to `--seed`: no training uses such seeds of episodes."""


def run(request: EvalRequest) -> EvalOutcome:
    """Play episodes with the policy and each baseline."""
    args, file = request.args, request.model_file
    agent = load_game_agent(file)
    config = _config(agent, file, request)
    demos = request.args.demos
    names = [POLICY, *request.baselines]
    if HUMAN in names and demos is None:
        if args.baselines is not None and HUMAN in args.baselines:
            raise ConfigError(
                "--baselines human: name the recordings with --demos FOLDER"
            )
        names.remove(HUMAN)
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
        f"{request.episodes} episodes of each kind of agent",
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
    return EvalOutcome(evaluation, facts=facts)


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


def _config(agent: GameAgent, file: Path, request: EvalRequest) -> GodotConfig:
    """Return the settings of the training with the game of the flags, or of its run folder."""
    config, args = agent.config, request.args
    folder = RunFolder.around(file)
    if folder is not None:
        try:
            stored = load_json(GodotConfig, folder.config).environment
        except AmbuloError as error:
            log.warning("%s", error)
        else:
            places = {key: getattr(stored, key) for key in ENGINE_PLACES}
            config = config.override("environment", **places)
    given = {
        key: getattr(args, key) for key in (*ENGINE_PLACES, "scene", "godot_engines")
    }
    given = {key: value for key, value in given.items() if value is not None}
    config = config.override("environment", **given)
    if (
        config.environment.godot_project is None
        and config.environment.godot_url is None
    ):
        raise ConfigError(
            f"{file}: model files do not say where the game is: add --godot-project FOLDER"
        )
    return config
