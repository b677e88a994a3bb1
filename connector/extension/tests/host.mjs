// Stands where pi stands, in a process of its own: loads the extension, starts the session, and runs one tool call when
// asked. Prints one JSON line per step.
import tools from "../tools.mjs";

const registered = [];
const handlers = {};
await tools({
	registerTool: (tool) => registered.push(tool),
	on: (event, handler) => (handlers[event] = handler),
	getActiveTools: () => registered.map((tool) => tool.name),
	getAllTools: () => registered,
});
handlers.session_start({}, { ui: { setStatus: (key, text) => console.log(JSON.stringify({ key, text: JSON.parse(text) })) } });

const [name, args] = process.argv.slice(2);
if (name) {
	const tool = registered.find((each) => each.name === name);
	const outcome = await tool.execute("call-1", JSON.parse(args)).catch((error) => ({ thrown: error.message }));
	console.log(JSON.stringify(outcome));
}
process.exit(0);
