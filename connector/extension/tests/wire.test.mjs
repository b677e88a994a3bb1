// How a call travels: frames, statuses, cancellation, deadlines, a peer that misbehaves.
import assert from "node:assert/strict";
import test from "node:test";
import { frame, unframe, WireError } from "../wire.mjs";
import { Broker, refuseWith, reply } from "./broker.mjs";

const VERB = "/mosaic.broker.v1.Tools/ReadFile";
const SOON = { deadlineMs: 5_000 };

/** Runs `body` with a wire to a broker whose verbs answer by `verb`. */
async function withWire(verb, body) {
	const broker = await Broker.listing([], verb);
	const wire = await broker.wire();
	try {
		await body(wire, broker);
	} finally {
		wire.close();
		broker.close();
	}
}

const broke = (message) => (error) => error instanceof WireError && error.message === message;

test("a message survives its frame", () => {
	for (const text of ["", "x", "y".repeat(70_000)]) {
		const message = Buffer.from(text);
		assert.deepEqual(unframe(frame(message)), message);
	}
});

test("a reply that is not exactly one plain message is refused", () => {
	const whole = frame(Buffer.from("abc"));
	assert.throws(() => unframe(whole.subarray(0, 4)), broke("the broker's reply was cut short"));
	assert.throws(() => unframe(whole.subarray(0, 7)), broke("the broker's reply was not one message"));
	assert.throws(() => unframe(Buffer.concat([whole, whole])), broke("the broker's reply was not one message"));
	whole[0] = 1;
	assert.throws(() => unframe(whole), broke("the broker's reply was compressed, which was not asked for"));
});

test("a call carries its bytes there and back", () =>
	withWire(
		(stream) => reply(stream, Buffer.from("pong")),
		async (wire, broker) => {
			const answer = await wire.unary(VERB, Buffer.from("ping"), SOON);
			assert.equal(answer.toString(), "pong");
			assert.deepEqual(broker.calls, [{ path: VERB, hex: Buffer.from("ping").toString("hex") }]);
		},
	));

test("a reply of several megabytes arrives whole", () =>
	withWire(
		(stream) => reply(stream, Buffer.alloc(3_000_000, "z")),
		async (wire) => {
			const answer = await wire.unary(VERB, Buffer.alloc(2_000_000), SOON);
			assert.equal(answer.length, 3_000_000);
		},
	));

test("a gRPC error is a broken call that names its status", () =>
	withWire(
		(stream) => refuseWith(stream, 9),
		(wire) =>
			assert.rejects(wire.unary(VERB, Buffer.alloc(0), SOON), broke("the broker answered with gRPC status 9")),
	));

test("an HTTP error is a broken call that names its status", () =>
	withWire(
		(stream) => stream.respond({ ":status": 431 }, { endStream: true }),
		(wire) =>
			assert.rejects(wire.unary(VERB, Buffer.alloc(0), SOON), broke("the broker answered with HTTP status 431")),
	));

test("an abort resets the stream with CANCEL", () =>
	withWire(
		() => {},
		async (wire, broker) => {
			const controller = new AbortController();
			const call = wire.unary(VERB, Buffer.alloc(0), { ...SOON, signal: controller.signal });
			await new Promise(setImmediate);
			controller.abort();
			await assert.rejects(call, broke("the call was cancelled"));
			while (broker.resets.length === 0) await new Promise(setImmediate);
			assert.deepEqual(broker.resets, [8]);
		},
	));

test("a call that is aborted before it begins sends nothing", () =>
	withWire(
		() => {},
		async (wire, broker) => {
			const call = wire.unary(VERB, Buffer.alloc(0), { ...SOON, signal: AbortSignal.abort() });
			await assert.rejects(call, broke("the call was cancelled before it was sent"));
			assert.deepEqual(broker.calls, []);
		},
	));

test("a silent broker meets the deadline", () =>
	withWire(
		() => {},
		(wire) =>
			assert.rejects(
				wire.unary(VERB, Buffer.alloc(0), { deadlineMs: 20 }),
				broke("the broker did not answer within 0.02 s"),
			),
	));

test("a lost connection breaks the running call and every later one, and the process lives", () =>
	withWire(
		(stream) => stream.session.destroy(),
		async (wire) => {
			await assert.rejects(wire.unary(VERB, Buffer.alloc(0), SOON), broke("the connection to the broker broke"));
			await assert.rejects(wire.unary(VERB, Buffer.alloc(0), SOON));
		},
	));
