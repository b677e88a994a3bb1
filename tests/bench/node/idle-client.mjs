// The rival in memory: a discord.js client as its guide writes one, logged in and idle. Usage: idle-client.mjs API TOKEN
import { createRequire } from "node:module";

const require = createRequire(new URL("../rivals/package.json", import.meta.url));
const { Client, Events, GatewayIntentBits } = require("discord.js");

const [api, token] = process.argv.slice(2);
const { Guilds, GuildMessages, MessageContent } = GatewayIntentBits;
const client = new Client({ intents: [Guilds, GuildMessages, MessageContent], rest: { api } });
client.once(Events.ClientReady, () => console.log("ready"));
await client.login(token);
