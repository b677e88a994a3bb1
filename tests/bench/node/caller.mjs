// Calls the broker from where pi would: a Node process with the broker's connection as descriptor 3, through the wire code
// of the extension itself. Calls the rivals the way an MCP host in Node would: as children, over their stdio. Reads orders
// as JSON lines and answers each with the microseconds its calls took.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [extension, rivalLines] = process.argv.slice(2);
const part = (file) => import(pathToFileURL(`${extension}/${file}`));
const { Wire } = await part("wire.mjs");
const { answer, Contract, DESCRIBE } = await part("contract.mjs");

const TOOLS_FD = 3;
const DEADLINE = { deadlineMs: 30_000 };

/** The broker, called as the extension calls it. */
async function broker() {
	const wire = Wire.over(TOOLS_FD);
	const contract = Contract.fromDescribeReply(await wire.unary(DESCRIBE, new Uint8Array(), DEADLINE));
	const listPath = DESCRIBE.replace("Describe", "List");
	const list = contract.rpc(listPath);
	const { tools } = list.decode(await wire.unary(listPath, list.encode({}), DEADLINE));
	const paths = new Map(tools.map((tool) => [tool.name, tool.rpcPath]));
	return async (verb, args) => {
		const path = paths.get(verb);
		const rpc = contract.rpc(path);
		const { text, details } = answer(rpc.decode(await wire.unary(path, rpc.encode(args), DEADLINE)));
		if (details.outcome !== "done") throw new Error(`${verb}: ${text}`);
		return text;
	};
}

/** An MCP server as a child, one JSON line out and one in. */
async function rival([program, ...args]) {
	const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
	const waiting = new Map();
	createInterface({ input: child.stdout }).on("line", (line) => {
		const reply = JSON.parse(line);
		waiting.get(reply.id)?.(reply);
		waiting.delete(reply.id);
	});
	let asked = 0;
	const say = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	const ask = (method, params) =>
		new Promise((resolve) => {
			const id = ++asked;
			waiting.set(id, resolve);
			say({ id, method, params });
		});
	const clientInfo = { name: "bench", version: "1" };
	await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
	say({ method: "notifications/initialized" });
	return async (verb, args) => {
		const { result, error } = await ask("tools/call", { name: verb, arguments: args });
		if (error || result.isError) throw new Error(`${verb}: ${JSON.stringify(error ?? result)}`);
		return result.content[0].text;
	};
}

const ours = await broker();
const rivals = await Promise.all(JSON.parse(rivalLines).map(rival));

for await (const line of createInterface({ input: process.stdin })) {
	const order = JSON.parse(line);
	const call = order.rival === null ? ours : rivals[order.rival];
	const times = [];
	for (let done = 0; done < order.count; done++) {
		const began = performance.now();
		await call(order.verb, order.arguments);
		times.push((performance.now() - began) * 1000);
	}
	console.log(JSON.stringify(times));
}
process.exit(0);
