// Worker threads that share memory, child processes and files.
const { Worker, isMainThread, workerData } = require("node:worker_threads");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");

if (isMainThread) {
  const shared = new SharedArrayBuffer(4);
  const counter = new Int32Array(shared);
  const workers = [1, 2, 3, 4].map((step) => new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: { shared, step } });
    worker.on("error", reject);
    worker.on("exit", resolve);
  }));
  Promise.all(workers).then((codes) => {
    console.log(codes, counter[0]);
    fs.writeFileSync("node.txt", "written");
    console.log(execFileSync("cat", ["node.txt"]).toString());
  });
} else {
  for (let turn = 0; turn < 1000; turn++) {
    Atomics.add(new Int32Array(workerData.shared), 0, workerData.step);
  }
}
