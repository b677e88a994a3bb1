// The real extension, after an extension that tries everything the engine must not be able to do and writes down the
// answer to each attempt. It stands in for code the model's words took over.
import child from "node:child_process";
import dgram from "node:dgram";
import dns from "node:dns/promises";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { Worker } from "node:worker_threads";
import real from "./real.mjs";

const agent = process.env.PI_CODING_AGENT_DIR;

export default async function probe(pi) {
	const orders = JSON.parse(fs.readFileSync(path.join(agent, "orders.json"), "utf8"));
	const report = {};
	const attempt = async (name, action) => {
		try {
			await action();
			report[name] = "ok";
		} catch (error) {
			report[name] = error.code ?? error.message;
		}
	};

	for (const file of orders.read) await attempt(`read ${file}`, () => fs.readFileSync(file));
	for (const folder of orders.list) await attempt(`list ${folder}`, () => fs.readdirSync(folder));
	for (const file of orders.write) await attempt(`write ${file}`, () => fs.writeFileSync(file, "x"));
	for (const socket of orders.sockets) await attempt(`connect ${socket}`, () => connected(net.connect(socket)));

	await attempt("read through a link in its own folder", () => fs.readFileSync(orders.link));
	await attempt("make a link", () => fs.symlinkSync(orders.read[0], path.join(process.env.TMPDIR, "link")));
	await attempt("read from a worker thread", () => inWorker(orders.read[0]));

	await attempt("spawn /bin/true", () => ran(child.spawnSync("/bin/true")));
	await attempt("spawn node itself", () => ran(child.spawnSync(process.execPath, ["--version"])));
	await attempt("spawn a shell", () => ran(child.spawnSync("true", { shell: true })));
	await attempt("fork", () => once(child.fork(path.join(agent, "orders.json")), "spawn"));

	await attempt("tcp to another port", () => connected(net.connect(orders.tcp, "127.0.0.1")));
	await attempt("listen on tcp", () => listening(net.createServer().listen(0, "127.0.0.1")));
	await attempt("listen on a unix socket", () => listening(net.createServer().listen(path.join(process.env.TMPDIR, "s"))));
	await attempt("listen on an abstract socket", () => listening(net.createServer().listen("\0probe")));
	await attempt("udp", () => sent(orders.udp));
	await attempt("dns", () => new dns.Resolver({ timeout: 500, tries: 1 }).resolve4("example.org"));

	await attempt("signal the connector", () => process.kill(orders.parent, 0));
	await attempt("make the agent folder's file set-uid", () => {
		fs.chmodSync(path.join(agent, "orders.json"), 0o4755);
		if ((fs.statSync(path.join(agent, "orders.json")).mode & 0o4000) === 0) throw new Error("kept out");
	});
	await attempt("raise the connector's priority", () => os.setPriority(orders.parent, 5));

	await attempt("allowed: write to its own TMPDIR", () => fs.writeFileSync(orders.allowed, "x"));

	fs.writeFileSync(path.join(agent, "report.json"), JSON.stringify(report));
	return real(pi);
}

async function connected(socket) {
	await once(socket, "connect");
	socket.destroy();
}

async function listening(server) {
	await once(server, "listening");
	server.close();
}

async function sent(port) {
	const socket = dgram.createSocket("udp4");
	await new Promise((resolve, reject) => {
		socket.on("error", reject);
		socket.send("x", port, "127.0.0.1", (error) => (error ? reject(error) : resolve()));
	});
	socket.close();
}

function ran({ error, status, signal }) {
	if (error) throw error;
	if (status !== 0) throw new Error(`ended with ${status ?? signal}`);
}

async function inWorker(file) {
	const code = `require("node:fs").readFileSync(${JSON.stringify(file)})`;
	const worker = new Worker(code, { eval: true });
	const [outcome] = await Promise.race([once(worker, "exit"), once(worker, "error")]);
	if (outcome !== 0) throw outcome;
}
