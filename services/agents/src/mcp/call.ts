import { inWork } from '@commonplace/kit/store';
import type { McpServerRecord, McpToolRecord } from '../stores/mcp-servers.js';
import type { Effect } from '../stores/runs.js';
import { accessFor } from './access.js';
import { CallLost, type CallOutcome, callTool, type McpAccess } from './client.js';
import { McpFailure } from './failure.js';
import { MAX_ROUNDS } from './limits.js';
import { beginAuthorization, storeAuthorization } from './oauth.js';
import { noteOutcome } from './outcome.js';
import type { McpParts } from './parts.js';
import {
  type CallOwner,
  type CallState,
  nextQuestion,
  pageQuestion,
  type Question,
  readQuestions,
  readState,
  withAnswer,
} from './questions.js';
import { type McpImage, resultImages, resultText } from './result.js';
import { faultOfArguments } from './schema.js';
import { callId } from './secrets.js';
import { usableTools } from './tool-list.js';

/** A call of a tool by a run. */
interface McpCall {
  readonly serverId: string;
  readonly toolName: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly run: { readonly id: string; readonly tenant: string; readonly userId: string };
  readonly toolCallId: string;
  readonly signal: AbortSignal;
  readonly answer?: Readonly<Record<string, unknown>> | undefined;
  readonly state?: string | undefined;
}

export interface McpCallResult {
  readonly server: McpServerRecord;
  readonly text: string;
  readonly isError: boolean;
  /** The images of the result, in order. */
  readonly images?: readonly McpImage[] | undefined;
  readonly question?: Question | undefined;
}

/** A tool and its server, as currently stored. */
interface CurrentTool {
  readonly server: McpServerRecord;
  readonly tool: McpToolRecord;
}

/** Thrown if a call cannot be made, because the tool no longer exists or the arguments do not fit. */
export class CallRefused extends Error {}

/** Returns a tool that the server lists and the owner of the agent allows. Throws `CallRefused`. */
export async function currentTool(
  { mcpServers, schemas }: Pick<McpParts, 'mcpServers' | 'schemas'>,
  serverId: string,
  toolName: string,
  args: Readonly<Record<string, unknown>>,
): Promise<CurrentTool> {
  const server = await mcpServers.get(serverId);
  const tool = server?.isActive ? usableTools(server).find(({ name }) => name === toolName) : undefined;
  if (server === undefined || tool === undefined) throw new CallRefused('The tool is no longer available.');
  const fault = await faultOfArguments(schemas, server.tenant, tool.inputSchema, args);
  if (fault !== undefined) throw new CallRefused(fault);
  return { server, tool };
}

/** Returns the effect of repeating a call of a tool, as set by the owner of the agent. */
export function effectOf({ readOnlyTools, idempotentTools }: McpServerRecord, toolName: string): Effect {
  if (readOnlyTools.includes(toolName)) return 'none';
  return idempotentTools.includes(toolName) ? 'idempotent' : 'once';
}

/**
 * Calls a tool for a run. Throws `CallRefused` before anything is sent, and `CallLost` if a call that must not be
 * repeated may have taken effect.
 */
export async function runTool(parts: McpParts, call: McpCall): Promise<McpCallResult> {
  const { server, tool } = await currentTool(parts, call.serverId, call.toolName, call.args);
  const owner = { id: callId(call.run.id, call.toolCallId), tenant: call.run.tenant };
  const state = withAnswer(readState(parts.envelope, owner, call.state), call.answer);
  const open = nextQuestion(parts.envelope, owner, state);
  if (open !== undefined) return { server, text: open.title, isError: false, question: open };
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(server.timeoutMs)]);
  try {
    const access = await accessOf(parts, server, call.run.userId, signal);
    if (access === undefined) throw new McpFailure('auth', `Nobody has authorized for ${server.name} yet.`);
    const outcome = await callOnce(server, access, tool, call, state, signal);
    await noteOutcome(parts, server, undefined);
    return present({ ...parts, guard: access.guard }, server, tool.name, { owner, state }, outcome);
  } catch (error) {
    if (error instanceof CallLost) await noteOutcome(parts, server, error.failure);
    if (!(error instanceof McpFailure)) throw error;
    call.signal.throwIfAborted();
    await noteOutcome(parts, server, error);
    if (error.kind === 'auth' && server.perUserAuth) return askPerson(parts, server, call, owner, state);
    const text = error.kind === 'auth' ? `The owner of the agent has to authorize for ${server.name}.` : error.message;
    return { server, text, isError: true };
  }
}

async function accessOf(parts: McpParts, server: McpServerRecord, userId: string, signal: AbortSignal) {
  if (server.perUserAuth) return accessFor(parts, server, userId, signal);
  const agent = await parts.agents.get(server.agentId);
  return agent && accessFor(parts, server, agent.ownerId, signal);
}

/** Calls the tool. If the answer is lost and the call may be repeated, it calls the tool a second time. */
async function callOnce(
  server: McpServerRecord,
  access: McpAccess,
  tool: McpToolRecord,
  { args, toolCallId, run, signal: stop }: McpCall,
  { round, requestState, responses }: CallState,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const isAnswer = requestState !== undefined || Object.keys(responses).length > 0;
  const idempotencyKey = round === 0 ? keyOf(run.id, toolCallId) : `${keyOf(run.id, toolCallId)}:${round}`;
  const asked = { tool, args, idempotencyKey, requestState, inputResponses: isAnswer ? responses : undefined };
  try {
    return await callTool(server, access, asked, signal);
  } catch (error) {
    if (!(error instanceof CallLost) || effectOf(server, tool.name) === 'once') throw error;
    stop.throwIfAborted();
    if (signal.aborted) throw error.failure;
    return callTool(server, access, asked, signal).catch((again: unknown) => {
      throw again instanceof CallLost ? again.failure : again;
    });
  }
}

/** Returns an idempotency key. */
const keyOf = (runId: string, toolCallId: string): string =>
  toolCallId.includes(runId) ? toolCallId : callId(runId, toolCallId);

function present(
  { envelope, guard, settings }: Pick<McpParts, 'envelope' | 'settings'> & Pick<McpAccess, 'guard'>,
  server: McpServerRecord,
  toolName: string,
  { owner, state }: { readonly owner: CallOwner; readonly state: CallState },
  outcome: CallOutcome,
): McpCallResult {
  if (outcome.resultType !== 'input_required') {
    const result = outcome as Exclude<CallOutcome, { resultType: 'input_required' }>;
    const text = resultText(result, settings.mcpResultKb * 1024);
    return { server, text, isError: result.isError === true, images: resultImages(result, toolName) };
  }
  const asked = readQuestions(
    guard,
    server.name,
    state,
    outcome as Extract<CallOutcome, { resultType: 'input_required' }>,
  );
  const question = nextQuestion(envelope, owner, asked);
  if (question === undefined) return { server, text: 'The tool asks to be called again later.', isError: true };
  return { server, text: question.title, isError: false, question };
}

/** Asks the person who started the run to authorize a server. */
async function askPerson(
  parts: McpParts,
  server: McpServerRecord,
  { run }: McpCall,
  owner: CallOwner,
  state: CallState,
): Promise<McpCallResult> {
  if (state.round >= MAX_ROUNDS) return { server, text: `Nobody has authorized for ${server.name}.`, isError: true };
  try {
    const begun = await beginAuthorization(parts, server);
    await inWork(parts.store, async (work) => storeAuthorization(parts, work, server, begun, { userId: run.userId }));
    const title = `Authorize ${new URL(server.url).hostname} for the agent`;
    const question = pageQuestion(parts.envelope, owner, state, title, begun.url);
    return { server, text: title, isError: false, question };
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error;
    return { server, text: error.message, isError: true };
  }
}
