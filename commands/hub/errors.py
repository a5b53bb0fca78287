"""Errors of the hub, each as one line that says what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ambulo.configs.errors import AmbuloError


class HubError(AmbuloError):
    """The hub cannot be reached, refuses, or holds what cannot be used."""


@contextmanager
def hub_errors(what: str) -> Iterator[None]:
    """Turn what the client of the hub raises into a `HubError` that begins with `what`."""
    from httpx2 import InvalidURL
    from huggingface_hub import errors

    try:
        yield
    except errors.LocalTokenNotFoundError:
        raise HubError(
            f"{what}: not logged in: run `hf auth login`, or set HF_TOKEN"
        ) from None
    except errors.GatedRepoError:
        raise HubError(
            f"{what}: a gated repository: ask for access on its page"
        ) from None
    except errors.RepositoryNotFoundError:
        raise HubError(
            f"{what}: no such repository, or it is private and `hf auth login` is needed"
        ) from None
    except errors.RevisionNotFoundError:
        raise HubError(f"{what}: no such revision") from None
    except errors.HFValidationError as error:
        raise HubError(f"{what}: not a name of a repository: {error}") from None
    except errors.HfHubHTTPError as error:
        raise HubError(f"{what}: {_of_status(error)}") from None
    except errors.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise HubError(f"{what}: the hub cannot be reached: {reason}") from None
    except InvalidURL as error:
        raise HubError(f"{what}: not an address: {error}") from None
    except (OSError, RuntimeError, ValueError) as error:
        cause = error.__cause__
        if isinstance(cause, errors.HTTPError):
            raise HubError(f"{what}: the transfer failed: {cause}") from None
        reason = " ".join(str(error).split()) or type(error).__name__
        raise HubError(f"{what}: {reason}") from None
    except (AttributeError, LookupError, TypeError):
        raise HubError(f"{what}: not an answer of a hub") from None


def _of_status(error: Exception) -> str:
    """Return what an answer of the hub with an error status means."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    message = getattr(error, "server_message", None) or f"the hub answered {status}"
    advice = {
        401: "not logged in: run `hf auth login`, or set HF_TOKEN",
        403: f"not allowed ({message}); your token needs the right to write there",
        409: f"{message}; something changed meanwhile: run it again",
        412: "the repository changed meanwhile: run it again",
        429: "too many requests; try again later",
    }
    return advice.get(status or 0, message)
