// A small honest broker for the tests: HTTP/2 on a Unix socket, real descriptors, real frames. It keeps what it was
// sent and misbehaves on demand.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http2 from "node:http2";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt/google/protobuf/descriptor_pb.js";
import { frame, unframe, Wire } from "../wire.mjs";

const project = path.resolve(import.meta.dirname, "../../..");

/** The descriptor set as the broker serves it, from the crate that holds it. */
export const descriptors = execFileSync(
	"cargo",
	["run", "--quiet", "--package", "mosaic-proto", "--example", "descriptors"],
	{ cwd: project, maxBuffer: 1 << 24 },
);

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors));

/** The descriptor of one message of the contract. */
export const messageType = (name) => registry.getMessage(`mosaic.broker.v1.${name}`);

/** The golden vectors shared with Rust. */
export const vectors = (name) => JSON.parse(readFileSync(path.join(project, "proto/vectors", `${name}.json`), "utf8"));

const message = (name, fields) => toBinary(messageType(name), create(messageType(name), fields));

/** A tool as the broker would list it. */
export const readFile = {
	name: "read_file",
	description: "Reads one text file.",
	jsonSchema: JSON.stringify({ type: "object", properties: { root: { type: "string" }, path: { type: "string" } } }),
	rpcPath: "/mosaic.broker.v1.Tools/ReadFile",
};

export class Broker {
	/** Bodies of the verbs called, by path, in order. */
	calls = [];
	/** RST_STREAM codes of calls the client gave up. */
	resets = [];
	#server = http2.createServer();
	#folder = mkdtempSync(path.join(tmpdir(), "broker-"));
	#tools;
	#verb;

	/** `verb(stream)` answers every call that is neither Describe nor List. */
	static async listing(tools, verb = () => {}) {
		const broker = new Broker();
		broker.#tools = tools;
		broker.#verb = verb;
		broker.#server.on("stream", (stream, headers) => broker.#answer(stream, headers[":path"]));
		broker.#server.listen(broker.socket);
		await once(broker.#server, "listening");
		return broker;
	}

	get socket() {
		return path.join(this.#folder, "s");
	}

	/** A plain connection, to be handed on. */
	async connect() {
		const socket = net.connect(this.socket);
		await once(socket, "connect");
		return socket;
	}

	/** A wire over a connection of its own. */
	async wire() {
		const socket = await this.connect();
		return new Wire(http2.connect("http://localhost", { createConnection: () => socket }));
	}

	close() {
		this.#server.close();
		rmSync(this.#folder, { recursive: true });
	}

	async #answer(stream, rpcPath) {
		stream.on("error", () => {});
		stream.on("close", () => stream.rstCode && this.resets.push(stream.rstCode));
		const body = unframe(Buffer.concat(await stream.toArray()));
		if (rpcPath.endsWith("/Describe")) return reply(stream, message("DescribeReply", { fileDescriptorSet: descriptors }));
		if (rpcPath.endsWith("/List")) {
			return reply(stream, message("ListReply", { tools: this.#tools, policyDigest: "d1" }));
		}
		this.calls.push({ path: rpcPath, hex: Buffer.from(body).toString("hex") });
		this.#verb(stream);
	}
}

/** Answers a call with one message and status 0. */
export function reply(stream, bytes) {
	stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
	stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
	stream.end(frame(bytes));
}

/** Answers a call with a bare gRPC status, as a server without a body does. */
export function refuseWith(stream, status) {
	stream.respond({ ":status": 200, "grpc-status": String(status) }, { endStream: true });
}
