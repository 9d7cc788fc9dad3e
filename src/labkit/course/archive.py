"""A zip file that depends on its contents alone: sorted names, one time stamp, fixed modes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_STAMP = (1980, 1, 1, 0, 0, 0)  # the earliest that the format knows
_MODE = 0o100644


def zipped(files: Mapping[str, bytes]) -> bytes:
    """The archive of these files, by path. Equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, raw in sorted(files.items()):
            info = zipfile.ZipInfo(name, _STAMP)
            info.external_attr = _MODE << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, raw)
    return buffer.getvalue()
