// The broker's messages, read from the descriptors it serves itself: arguments in, request bytes out; reply bytes in,
// text out. It knows the fixed shape of a reply and of the list; every verb is just a path and a message type.
import { create, createFileRegistry, fromBinary, ScalarType, toBinary } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
// The one file of the well-known types that is needed: the whole set takes as long to load as everything else here.
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt/google/protobuf/descriptor_pb.js";

const SERVICE = "mosaic.broker.v1.Tools";

/** rpc path of the one call that needs no descriptors yet: its request is empty, its reply one bytes field. */
export const DESCRIBE = `/${SERVICE}/Describe`;

/** An argument does not fit the request message. Nothing was sent. */
export class ArgumentError extends Error {
	name = "ArgumentError";
}

export class Contract {
	#service;

	constructor(fileDescriptorSet) {
		const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, fileDescriptorSet));
		this.#service = registry.getService(SERVICE);
		if (!this.#service) throw new Error(`the broker's descriptors hold no ${SERVICE}`);
	}

	/** Reads the reply of `Describe`, whose own descriptor is inside it: field 1, length-delimited. */
	static fromDescribeReply(bytes) {
		return new Contract(onlyBytesField(bytes));
	}

	/** The rpc behind a path of the list, with its request and reply types. */
	rpc(path) {
		const [, service, name] = /^\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
		const method = service === SERVICE ? this.#service.methods.find((each) => each.name === name) : undefined;
		if (method?.methodKind !== "unary") throw new Error(`the broker's descriptors hold no unary rpc ${path}`);
		return {
			encode: (args) => encode(method.input, args),
			decode: (bytes) => fromBinary(method.output, bytes),
		};
	}
}

/**
 * Fills a request from a tool call's arguments. Strict: a name the message does not have, a value of another type or a
 * number out of range is an error, so that the broker never judges something else than what the model asked for.
 */
export function encode(type, args) {
	const message = reflect(type, create(type));
	for (const [name, value] of Object.entries(args)) {
		const field = type.fields.find((each) => each.name === name);
		if (!field) throw new ArgumentError(`there is no argument "${name}"`);
		if (field.fieldKind !== "scalar") throw new ArgumentError(`argument "${name}" has a type that cannot be sent`);
		if (typeof value === "string" && !value.isWellFormed()) {
			// Sent as it is, half an emoji would silently become U+FFFD in somebody's file.
			throw new ArgumentError(`argument "${name}" holds half of a character`);
		}
		const wide = WIDE.includes(field.scalar) && Number.isSafeInteger(value);
		try {
			message.set(field, wide ? BigInt(value) : value);
		} catch {
			throw new ArgumentError(`argument "${name}" must be a ${ScalarType[field.scalar].toLowerCase()}`);
		}
	}
	return toBinary(type, message.message);
}

// 64-bit fields, which JavaScript holds as BigInt.
const WIDE = [ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64];

/** What the model reads, and the plain data kept beside it. A refusal is an answer like any other. */
export function answer(reply) {
	const { case: outcome, value } = reply.outcome;
	if (outcome === "done") return { text: value.text, details: { outcome, facts: plain(value.facts) } };
	if (outcome === "refusal") return { text: value.text, details: { outcome, reason: value.reason } };
	throw new Error("the broker's reply has no outcome");
}

function plain(facts) {
	return Object.fromEntries(
		facts.map(({ name, value }) => [name, typeof value.value === "bigint" ? Number(value.value) : value.value]),
	);
}

function onlyBytesField(bytes) {
	let at = 0;
	const varint = () => {
		let value = 0;
		for (let shift = 0; shift < 28; shift += 7) {
			const byte = bytes[at++];
			value |= (byte & 0x7f) << shift;
			if (byte < 0x80) return value;
		}
		throw new Error("the broker's description is malformed");
	};
	if (varint() !== 0x0a || varint() !== bytes.length - at) throw new Error("the broker's description is malformed");
	return bytes.subarray(at);
}
