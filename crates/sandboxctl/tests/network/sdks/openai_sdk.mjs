import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.argv[2] + "/");
const client = new (require("openai").default)();
const history = [{ role: "user", content: "piece by piece" }];
const tools = [{ type: "function", name: "write_file", parameters: { type: "object" }, strict: false }];
for (;;) {
  let response;
  for await (const event of await client.responses.create({ model: "m", input: history, tools, stream: true })) {
    if (event.type === "response.output_text.delta" && event.delta === "all ") await client.models.list();
    if (event.type === "response.completed") response = event.response;
  }
  const call = response.output.find((item) => item.type === "function_call");
  if (!call) {
    console.log(response.output[0].content[0].text);
    break;
  }
  const { path, content } = JSON.parse(call.arguments);
  writeFileSync(path, content);
  execFileSync("sh", ["/workspace/look.sh"]);
  const { call_id, name, arguments: given } = call;
  history.push({ type: "function_call", call_id, name, arguments: given });
  history.push({ type: "function_call_output", call_id, output: "written" });
}
