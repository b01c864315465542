import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.argv[2] + "/");
const client = new (require("@anthropic-ai/sdk").default)();
const history = [{ role: "user", content: "piece by piece" }];
const tools = [{ name: "write_file", input_schema: { type: "object" } }];
for (;;) {
  const stream = client.messages.stream({ model: "m", max_tokens: 99, tools, messages: history });
  for await (const event of stream) {
    if (event.delta?.text === "all ") await client.models.list();
  }
  const message = await stream.finalMessage();
  const call = message.content.find((block) => block.type === "tool_use");
  if (!call) {
    console.log(message.content[0].text);
    break;
  }
  writeFileSync(call.input.path, call.input.content);
  execFileSync("sh", ["/workspace/look.sh"]);
  const result = { type: "tool_result", tool_use_id: call.id, content: "written" };
  history.push({ role: "assistant", content: message.content }, { role: "user", content: [result] });
}
