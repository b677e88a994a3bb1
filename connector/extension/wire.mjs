// One gRPC connection over an inherited descriptor: unary calls, framed by hand on node:http2. It knows how a call
// travels and nothing of what it means: no message type, no tool, no rule.
import { fstatSync } from "node:fs";
import http2 from "node:http2";
import net from "node:net";

const PREFIX_BYTES = 5; // one flag byte and a 32-bit length, before every gRPC message
const REPLY_MAX_BYTES = 16 * 1024 * 1024; // far above any reply of the broker; keeps a mad peer from filling memory

/** The call did not come back: nothing is known of its effect unless the message says so. */
export class WireError extends Error {
	name = "WireError";
}

/** Puts one uncompressed message into its gRPC frame. */
export function frame(message) {
	const framed = Buffer.alloc(PREFIX_BYTES + message.length);
	framed.writeUInt32BE(message.length, 1);
	framed.set(message, PREFIX_BYTES);
	return framed;
}

/** Takes the only message out of a reply body; a reply with less or more than one is a broken wire. */
export function unframe(body) {
	if (body.length < PREFIX_BYTES) throw new WireError("the broker's reply was cut short");
	if (body[0] !== 0) throw new WireError("the broker's reply was compressed, which was not asked for");
	if (body.readUInt32BE(1) !== body.length - PREFIX_BYTES) throw new WireError("the broker's reply was not one message");
	return body.subarray(PREFIX_BYTES);
}

/** The connection the process was born with. */
export class Wire {
	#session;

	constructor(session) {
		this.#session = session;
		// A lost connection shows itself in each call; without a listener it would end the process instead.
		session.on("error", () => {});
	}

	/** Takes over descriptor `fd`, which must be a connected socket. */
	static over(fd) {
		if (!fstatSync(fd).isSocket()) throw new WireError(`descriptor ${fd} is no socket`);
		const socket = new net.Socket({ fd });
		return new Wire(http2.connect("http://localhost", { createConnection: () => socket }));
	}

	/**
	 * Sends one message and returns the bytes of its reply. Rejects when the wire broke, after `deadlineMs`, or when
	 * `signal` fires, which also resets the stream so that the broker stops what it was doing.
	 */
	unary(path, message, { deadlineMs, signal }) {
		return new Promise((resolve, reject) => {
			if (signal?.aborted) throw new WireError("the call was cancelled before it was sent");
			const stream = this.#session.request({
				":method": "POST",
				":path": path,
				"content-type": "application/grpc",
				te: "trailers",
			});
			const chunks = [];
			let size = 0;
			let httpStatus;
			let grpcStatus;

			const settle = (error) => {
				clearTimeout(timer);
				signal?.removeEventListener("abort", cancel);
				if (error) reject(error);
			};
			const giveUp = (reason) => {
				settle(new WireError(reason));
				stream.close(http2.constants.NGHTTP2_CANCEL);
			};
			const cancel = () => giveUp("the call was cancelled");
			const timer = setTimeout(() => giveUp(`the broker did not answer within ${deadlineMs / 1000} s`), deadlineMs);
			signal?.addEventListener("abort", cancel, { once: true });

			stream.on("response", (headers) => {
				httpStatus = headers[":status"];
				grpcStatus = headers["grpc-status"]; // present here only when there is no body
			});
			stream.on("trailers", (trailers) => {
				grpcStatus = trailers["grpc-status"];
			});
			stream.on("data", (chunk) => {
				size += chunk.length;
				if (size > REPLY_MAX_BYTES) giveUp("the broker's reply was too large");
				else chunks.push(chunk);
			});
			stream.on("error", () => settle(new WireError("the connection to the broker broke")));
			stream.on("close", () => {
				try {
					if (httpStatus === undefined) throw new WireError("the connection to the broker broke");
					if (httpStatus !== 200) throw new WireError(`the broker answered with HTTP status ${httpStatus}`);
					if (grpcStatus !== "0") throw new WireError(`the broker answered with gRPC status ${grpcStatus ?? "none"}`);
					resolve(unframe(Buffer.concat(chunks)));
					settle();
				} catch (error) {
					settle(error);
				}
			});
			stream.end(frame(message));
		});
	}

	/** Ends the connection once the running calls are through. */
	close() {
		this.#session.close();
	}
}
