// The extension in a process of its own, with descriptor 3 as the connector would hand it over.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { Broker, readFile, refuseWith, reply, vectors } from "./broker.mjs";

const host = path.join(import.meta.dirname, "host.mjs");
const SETTING = JSON.stringify({ version: 1, fd: 3 });

/** Runs the host with `third` as descriptor 3 and returns how it ended and what it said. */
async function run(third, setting, ...args) {
	const child = spawn(process.execPath, [host, ...args], {
		env: setting === undefined ? {} : { MOSAIC_DISCORD_TOOLS: setting },
		stdio: ["ignore", "pipe", "pipe", third],
	});
	const text = (stream) => stream.setEncoding("utf8").toArray().then((chunks) => chunks.join(""));
	const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
	return { code, err, lines: out.split("\n").filter(Boolean).map((line) => JSON.parse(line)) };
}

/** Runs the host against a broker that lists `read_file` and answers it by `verb`. */
async function runWithBroker(verb, ...args) {
	const broker = await Broker.listing([readFile], verb);
	const socket = await broker.connect();
	try {
		return { ...(await run(socket, SETTING, ...args)), calls: broker.calls };
	} finally {
		socket.destroy();
		broker.close();
	}
}

const announcement = { key: "mosaic", text: { active: ["read_file"], registered: ["read_file"], policyDigest: "d1" } };
const [, done, refusal] = vectors("replies");
const bytes = ({ hex }) => Buffer.from(hex, "hex");

test("it registers what the broker lists and announces it", async () => {
	const { code, err, lines } = await runWithBroker();
	assert.deepEqual({ code, err, lines }, { code: 0, err: "", lines: [announcement] });
});

test("a call reaches the verb's own path and its text comes back", async () => {
	const { lines, calls } = await runWithBroker(
		(stream) => reply(stream, bytes(done)),
		"read_file",
		'{"root":"notes","path":"a.md"}',
	);
	assert.deepEqual(calls, [{ path: readFile.rpcPath, hex: "0a056e6f7465731204612e6d64" }]);
	assert.deepEqual(lines[1].content, [{ type: "text", text: done.text }]);
});

test("a refusal is an answer, not an error", async () => {
	const { lines } = await runWithBroker((stream) => reply(stream, bytes(refusal)), "read_file", '{"root":"notes"}');
	assert.deepEqual(lines[1], {
		content: [{ type: "text", text: refusal.text }],
		details: { outcome: "refusal", reason: refusal.reason },
	});
});

test("an argument the message does not have is thrown and nothing is sent", async () => {
	const { lines, calls } = await runWithBroker(() => {}, "read_file", '{"root":"notes","turn_id":"t"}');
	assert.deepEqual(lines[1], { thrown: 'there is no argument "turn_id"' });
	assert.deepEqual(calls, []);
});

test("a broken call throws", async () => {
	const { lines } = await runWithBroker((stream) => refuseWith(stream, 9), "read_file", "{}");
	assert.deepEqual(lines[1], { thrown: "the broker answered with gRPC status 9" });
});

test("without its setting it ends the process with one line", async () => {
	const { code, err, lines } = await run("ignore", undefined);
	assert.deepEqual(
		{ code, err, lines },
		{ code: 1, err: "mosaic tools: MOSAIC_DISCORD_TOOLS is not set; the connector sets it\n", lines: [] },
	);
});

test("with a setting it does not know it ends the process", async () => {
	for (const setting of ["", "{}", "null", '{"version":2,"fd":3}', '{"version":1,"fd":"3"}']) {
		assert.equal((await run("ignore", setting)).code, 1, setting);
	}
});

test("with a file or a pipe on its descriptor it ends the process", async () => {
	for (const third of [openSync(host), "ignore"]) {
		const { code, err } = await run(third, SETTING);
		assert.deepEqual({ code, err }, { code: 1, err: "mosaic tools: descriptor 3 is no socket\n" });
	}
});

test("with nothing on its descriptor it ends the process", async () => {
	const { code, lines } = await run("ignore", JSON.stringify({ version: 1, fd: 99 }));
	assert.deepEqual({ code, lines }, { code: 1, lines: [] });
});

test("with a peer that does not speak the contract it ends the process", async () => {
	const broker = await Broker.listing([{ ...readFile, rpcPath: "/mosaic.broker.v1.Control/OpenTurn" }]);
	const socket = await broker.connect();
	const { code, lines } = await run(socket, SETTING);
	socket.destroy();
	broker.close();
	assert.deepEqual({ code, lines }, { code: 1, lines: [] });
});
