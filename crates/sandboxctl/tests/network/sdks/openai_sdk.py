import json
import subprocess

import openai

client = openai.OpenAI()


def write(arguments):
    arguments = json.loads(arguments)
    with open(arguments["path"], "w") as made:
        made.write(arguments["content"])
    subprocess.run(["sh", "/workspace/look.sh"], check=True)


# The older API: a text alone.
pieces = []
asked = [{"role": "user", "content": "piece by piece"}]
for piece in client.chat.completions.create(model="m", messages=asked, stream=True):
    if piece.choices[0].delta.content:
        pieces.append(piece.choices[0].delta.content)
    if len(pieces) == 1:
        client.models.list()

history = [{"role": "user", "content": "piece by piece"}]
tool = {"type": "function", "name": "write_file", "parameters": {"type": "object"}, "strict": False}
while True:
    for event in client.responses.create(model="m", input=history, tools=[tool], stream=True):
        if event.type == "response.output_text.delta" and event.delta == "all ":
            client.models.list()
        if event.type == "response.completed":
            response = event.response
    calls = [item for item in response.output if item.type == "function_call"]
    if not calls:
        break
    write(calls[0].arguments)
    called = {"type": "function_call", "call_id": calls[0].call_id, "name": "write_file", "arguments": calls[0].arguments}
    history += [called, {"type": "function_call_output", "call_id": calls[0].call_id, "output": "written"}]
assert "".join(pieces) == response.output_text, pieces
print(response.output_text)
