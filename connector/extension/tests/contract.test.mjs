// Arguments in, bytes out, and back: the golden vectors shared with Rust, and everything a request refuses to hold.
import assert from "node:assert/strict";
import test from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { answer, ArgumentError, Contract, encode } from "../contract.mjs";
import { descriptors, messageType, vectors } from "./broker.mjs";

const READ = messageType("ReadFileRequest");

test("every request vector is what JavaScript encodes", () => {
	for (const { message, arguments: args, hex } of vectors("requests")) {
		const type = messageType(message);
		assert.equal(Buffer.from(encode(type, args)).toString("hex"), hex, message);
	}
});

test("every reply vector is read as text and plain facts", () => {
	for (const { outcome, text, reason, facts, hex } of vectors("replies")) {
		const read = answer(fromBinary(messageType("ToolReply"), Buffer.from(hex, "hex")));

		const details =
			outcome === "done"
				? { outcome, facts: Object.fromEntries(facts.map(({ name, ...value }) => [name, Object.values(value)[0]])) }
				: { outcome, reason };
		assert.deepEqual(read, { text, details });
	}
});

for (const [claim, args, message] of [
	["an unknown argument is refused", { root: "r", requester: "Jason" }, 'there is no argument "requester"'],
	["a JSON name that is not the field's own is refused", { fromLine: 1 }, 'there is no argument "fromLine"'],
	["an inherited name is no argument", { constructor: "x" }, 'there is no argument "constructor"'],
	["a number where text belongs is refused", { root: 5 }, 'argument "root" must be a string'],
	["text where a number belongs is refused", { from_line: "5" }, 'argument "from_line" must be a uint32'],
	["a negative line is refused", { from_line: -1 }, 'argument "from_line" must be a uint32'],
	["half a line is refused", { from_line: 1.5 }, 'argument "from_line" must be a uint32'],
	["a line past 32 bits is refused", { from_line: 2 ** 32 }, 'argument "from_line" must be a uint32'],
	["null is no value", { path: null }, 'argument "path" must be a string'],
	["a list is no value", { path: ["a"] }, 'argument "path" must be a string'],
	["half of a character is refused", { path: "\ud83d" }, 'argument "path" holds half of a character'],
]) {
	test(claim, () => {
		assert.throws(() => encode(READ, args), (error) => error instanceof ArgumentError && error.message === message);
	});
}

test("an absent optional argument stays absent and a zero is sent", () => {
	assert.equal(encode(READ, {}).length, 0);
	assert.deepEqual([...encode(READ, { from_line: 0 })], [0x18, 0]);
});

test("a path outside the service is no rpc", () => {
	const contract = new Contract(descriptors);
	for (const path of ["/mosaic.broker.v1.Control/OpenTurn", "/mosaic.broker.v1.Tools/Nothing", "ReadFile", ""]) {
		assert.throws(() => contract.rpc(path), { message: `the broker's descriptors hold no unary rpc ${path}` });
	}
});

test("a malformed description is refused", () => {
	for (const bytes of [[], [0x0a], [0x0a, 5, 1], [0x12, 0], [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff]]) {
		assert.throws(() => Contract.fromDescribeReply(Uint8Array.from(bytes)));
	}
});
