// The pi extension: asks the broker which tools there are, registers them, forwards each call. It holds no rule and no
// tool name; what may be touched is decided on the other side of the wire.
import { answer, Contract, DESCRIBE } from "./contract.mjs";
import { Wire } from "./wire.mjs";

const START_DEADLINE_MS = 10_000;
const CALL_DEADLINE_MS = 120_000;

// The key under which the connector looks for the announcement.
const STATUS_KEY = "mosaic";

// pi evaluates a module a second time when its first evaluation throws: nothing happens at the top level.
export default async function tools(pi) {
	let list;
	try {
		list = await connect();
	} catch (error) {
		// Without the broker there is no extension, and pi must not run without it: an error thrown from a later
		// handler would leave pi running.
		process.stderr.write(`mosaic tools: ${error.message}\n`);
		process.exit(1);
	}

	for (const tool of list.tools) pi.registerTool(tool);

	pi.on("session_start", (_event, ctx) => {
		const announcement = {
			active: pi.getActiveTools(),
			registered: pi.getAllTools().map((tool) => tool.name),
			policyDigest: list.policyDigest,
		};
		ctx.ui.setStatus(STATUS_KEY, JSON.stringify(announcement));
	});

	// The working folder is a host path, of no use to the model.
	pi.on("before_agent_start", (event) => {
		event.systemPromptOptions.cwd = "/";
	});
}

/** Opens the wire the environment names and turns the broker's list into pi's tool definitions. */
async function connect() {
	const wire = Wire.over(descriptor(process.env.MOSAIC_DISCORD_TOOLS));
	const start = { deadlineMs: START_DEADLINE_MS };
	const contract = Contract.fromDescribeReply(await wire.unary(DESCRIBE, new Uint8Array(), start));
	const listPath = DESCRIBE.replace("Describe", "List");
	const list = contract.rpc(listPath);
	const { tools, policyDigest } = list.decode(await wire.unary(listPath, list.encode({}), start));
	return { tools: tools.map((tool) => definition(tool, wire, contract)), policyDigest };
}

function descriptor(setting) {
	if (setting === undefined) throw new Error("MOSAIC_DISCORD_TOOLS is not set; the connector sets it");
	const { version, fd } = JSON.parse(setting);
	if (version !== 1 || !Number.isInteger(fd)) throw new Error("MOSAIC_DISCORD_TOOLS is not understood");
	return fd;
}

function definition({ name, description, jsonSchema, rpcPath }, wire, contract) {
	const rpc = contract.rpc(rpcPath);
	return {
		name,
		label: name,
		description,
		parameters: JSON.parse(jsonSchema),
		executionMode: "sequential",
		async execute(_id, args, signal) {
			const request = rpc.encode(args);
			const reply = await wire.unary(rpcPath, request, { deadlineMs: CALL_DEADLINE_MS, signal });
			const { text, details } = answer(rpc.decode(reply));
			return { content: [{ type: "text", text }], details };
		},
	};
}
