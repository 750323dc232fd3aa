export type { ChatServerOptions } from './admission.js';
export type { ReceivedCall } from './answers.js';
export { type Fault, failures, type Script, type ScriptedCall, type ScriptedReply } from './script.js';
export { type Billed, type ChatServer, openChatServer } from './server.js';
