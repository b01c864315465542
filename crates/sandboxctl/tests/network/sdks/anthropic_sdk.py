import subprocess

import anthropic

client = anthropic.Anthropic()
history = [{"role": "user", "content": "piece by piece"}]
tool = {"name": "write_file", "input_schema": {"type": "object"}}
while True:
    with client.messages.stream(model="m", max_tokens=99, tools=[tool], messages=history) as stream:
        for number, _ in enumerate(stream.text_stream):
            if number == 0:
                client.models.list()
        message = stream.get_final_message()
    calls = [block for block in message.content if block.type == "tool_use"]
    if not calls:
        break
    with open(calls[0].input["path"], "w") as made:
        made.write(calls[0].input["content"])
    subprocess.run(["sh", "/workspace/look.sh"], check=True)
    result = {"type": "tool_result", "tool_use_id": calls[0].id, "content": "written"}
    history += [{"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
print(message.content[0].text)
