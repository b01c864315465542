"""A mock of the APIs of Anthropic and OpenAI: it asks for one tool call that writes a file, and then says a word. Answers are streams.
Prints what has come, one line for each request. By itself: `provider_stub.py PORT`, without TLS."""

import http.server
import json
import sys
import threading

LOG = sys.stdout
CONTENT = "written by the model"
COMMAND = f"printf '{CONTENT}' > made.txt; sh /workspace/look.sh"
# The tool that is called, if a client has it, and what with.
TOOLS = {
    # Of a server of MCP that is called `sandbox`.
    "mcp__sandbox__shell": {"command": COMMAND},
    "mcp__sandbox": {"command": COMMAND},
    "write_file": {"path": "made.txt", "content": CONTENT},
    "Bash": {"command": COMMAND, "description": "Write a file"},
    "exec_command": {"cmd": COMMAND},
    "shell_command": {"command": COMMAND},
    "shell": {"command": ["sh", "-c", COMMAND]},
}
# Set when a client that has seen the first words of an answer has asked for the models.
SEEN = threading.Event()


def call(body):
    """The name and arguments of the tool to be called, unless one has been."""
    said = json.dumps(body)
    if '"tool_result"' in said or '"function_call_output"' in said or '"role": "tool"' in said:
        return None
    names = [tool.get("name") or tool.get("function", {}).get("name") for tool in body.get("tools", [])]
    return next(((name, TOOLS[name]) for name in TOOLS if name in names), None)


def messages(body):
    """Anthropic: the events of a message."""
    tool = call(body)
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
    start |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    if tool:
        block = {"type": "tool_use", "id": "toolu_1", "name": tool[0], "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(tool[1])}]
    else:
        block = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": text} for text in ("all ", "done")]
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 2}}
    yield {"type": "message_stop"}


def responses(body):
    """OpenAI: the events of a response."""
    tool = call(body)
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": body["model"], "output": []}
    response |= {"status": "in_progress", "tools": [], "tool_choice": "auto", "parallel_tool_calls": False}
    events = [{"type": "response.created", "response": response}]
    if tool:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool[0], "status": "completed"}
        item["arguments"] = json.dumps(tool[1])
        if tool[0] == "mcp__sandbox":
            # A namespace of tools.
            item |= {"name": "shell", "namespace": tool[0]}
        events.append({"type": "response.output_item.added", "output_index": 0, "item": item | {"arguments": ""}})
        end = {"type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 0}
        events.append(end | {"name": tool[0], "arguments": item["arguments"]})
    else:
        text = {"type": "output_text", "text": "all done", "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        events.append({"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}})
        events.append({"type": "response.content_part.added", "part": text | {"text": ""}, **place})
        for delta in ("all ", "done"):
            events.append({"type": "response.output_text.delta", "delta": delta, "logprobs": [], **place})
        events.append({"type": "response.output_text.done", "text": "all done", "logprobs": [], **place})
    events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    done = response | {"status": "completed", "output": [item], "usage": usage}
    events.append({"type": "response.completed", "response": done})
    for number, event in enumerate(events):
        yield event | {"sequence_number": number}


def completions(body):
    """OpenAI: the pieces of a chat completion."""
    tool = call(body)

    def piece(delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": [choice]}

    if tool:
        function = {"name": tool[0], "arguments": json.dumps(tool[1])}
        yield piece({"role": "assistant", "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
    else:
        yield piece({"role": "assistant", "content": "all "})
        yield piece({"content": "done"})
    yield piece({}, "tool_calls" if tool else "stop")


STREAMS = {"/v1/messages": messages, "/v1/responses": responses, "/v1/chat/completions": completions}


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def record(self, **more):
        line = {"method": self.command, "path": self.path, "headers": dict(self.headers), **more}
        LOG.write(json.dumps(line) + "\n")
        LOG.flush()

    def answer(self, status, content):
        content = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.record()
        if self.path.partition("?")[0] == "/v1/models":
            SEEN.set()
            self.answer(200, {"object": "list", "data": [], "models": [], "has_more": False})
        else:
            self.answer(404, {"error": {"type": "not_found_error", "message": "a mock"}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        if path not in STREAMS or not body.get("stream"):
            self.record(body=body)
            return self.answer(404, {"error": {"type": "not_found_error", "message": "a mock"}})
        # What a tool has answered is the last of what is sent.
        last = (body.get("messages") or body.get("input") or [None])[-1]
        self.record(tools=[tool.get("name") for tool in body.get("tools", [])], last=last)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        waits = "piece by piece" in json.dumps(body)
        for event in STREAMS[path](body):
            kind = f"event: {event['type']}\n" if "type" in event else ""
            self.send(f"{kind}data: {json.dumps(event)}\n\n")
            # The rest comes when the first words have arrived.
            if waits and '"all "' in json.dumps(event) and not SEEN.wait(20):
                self.close_connection = True
                return
        if path == "/v1/chat/completions":
            self.send("data: [DONE]\n\n")
        SEEN.clear()
        self.send("")

    def send(self, text):
        """Sends a chunk. An empty one ends the answer."""
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())
        self.wfile.flush()


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Provider).serve_forever()
