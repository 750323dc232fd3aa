import { CallRefused, currentTool, effectOf, type McpCallResult, runTool } from '../../mcp/call.js';
import { CallLost } from '../../mcp/client.js';
import { modelToolName } from '../../mcp/names.js';
import { taintOf } from '../../mcp/result.js';
import { usableTools } from '../../mcp/tool-list.js';
import type { Parts } from '../../parts.js';
import type { McpServerRecord, McpToolRecord } from '../../stores/mcp-servers.js';
import type { RunRecord } from '../../stores/runs.js';
import { storeImages } from './mcp-images.js';
import { type Arguments, InvalidArguments, OutcomeUnknown, type Tool, type ToolPlan, type ToolResult } from './tool.js';

/** Maximum number of servers of one agent. */
const MAX_SERVERS = 100;

/** Returns the tools of the MCP servers of a run's agent, sorted by name. Schedules a refresh of stale lists. */
export async function mcpTools(parts: Parts, { agentId }: RunRecord): Promise<Tool[]> {
  if (agentId === undefined) return [];
  const where = { agentId, isActive: true };
  const servers = await parts.mcpServers.find({ where, limit: MAX_SERVERS });
  await Promise.all(servers.map((server) => refreshStale(parts, server)));
  const tools = servers.flatMap((server) => usableTools(server).map((tool) => toolOf(parts, server, tool)));
  const named = new Map(tools.map((tool) => [tool.schema.name, tool]));
  return [...named.values()].sort((a, b) => (a.schema.name < b.schema.name ? -1 : 1));
}

/** Schedules a refresh of a stale list of tools, without waiting for it. */
async function refreshStale({ store, mcpServers }: Parts, server: McpServerRecord): Promise<void> {
  const now = new Date().toISOString();
  if (server.probeAt !== undefined || server.listStaleAt === undefined || server.listStaleAt > now) return;
  const work = store.begin();
  work.replace(mcpServers, server, { ...server, probeAt: now });
  await work.commit().catch(() => {});
}

function toolOf(parts: Parts, server: McpServerRecord, tool: McpToolRecord): Tool {
  const { id: serverId, name } = server;
  return {
    taint: taintOf(server),
    schema: {
      name: modelToolName(name, tool.name),
      description: tool.description,
      parameters: { ...tool.inputSchema },
    },
    async plan(args) {
      const current = await currentTool(parts, serverId, tool.name, args).catch(refused);
      return planOf(current.server, current.tool, args);
    },
    async call(args, context) {
      const { run, toolCallId, signal, answer, state } = context;
      const call = { serverId, toolName: tool.name, args, run, toolCallId, signal, answer, state };
      const result = await runTool(parts, call).catch(refused);
      const origin = `what the tool ${modelToolName(name, tool.name)} has returned`;
      return { ...resultOf(result, await storeImages(parts, context, result.images ?? [])), origin };
    },
  };
}

function refused(error: unknown): never {
  if (error instanceof CallRefused) throw new InvalidArguments(error.message);
  if (error instanceof CallLost) throw new OutcomeUnknown(error.message);
  throw error;
}

/**
 * Returns the plan of a call. It ignores what the server says about its tool; only the settings of the agent's owner
 * count.
 */
function planOf(server: McpServerRecord, { name, hash }: McpToolRecord, args: Arguments): ToolPlan {
  const effect = effectOf(server, name);
  const { hostname } = new URL(server.url);
  const text = `\`\`\`json\n${JSON.stringify(args, null, 2).replaceAll('```', '` ` `')}\n\`\`\``;
  return {
    action: effect === 'none' ? 'read' : 'send',
    effect,
    risk: effect === 'none' ? 'low' : 'medium',
    isSink: effect !== 'none',
    title: `Call ${name} of ${server.name}`,
    preview: { text, targets: [`${server.name}: ${name}`], recipients: [], hosts: [hostname] },
    toolHash: hash,
    ...{ serverId: server.id, serverName: server.name },
    ownRule: ownRuleOf(server, name),
  };
}

function ownRuleOf({ requireApproval }: McpServerRecord, name: string): 'allow' | 'ask' {
  if (requireApproval === 'always') return 'ask';
  if (requireApproval === 'never') return 'allow';
  const { always, never } = requireApproval;
  return never.includes(name) && !always.includes(name) ? 'allow' : 'ask';
}

/** Returns the result of a call, tainted by the server, since its answers are untrusted. */
function resultOf(
  { server, text, isError, question }: McpCallResult,
  { lines, resourceIds }: Awaited<ReturnType<typeof storeImages>>,
): ToolResult {
  const all = [text, lines.join('\n')].filter((part) => part !== '').join('\n\n');
  return { text: all, isError, question, found: [], taints: [taintOf(server)], resourceIds };
}
