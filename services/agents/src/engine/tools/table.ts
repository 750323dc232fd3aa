import type { JsonSchema } from '../../domain/schema-check.js';
import { faultOfArguments } from '../../mcp/schema.js';
import type { Parts } from '../../parts.js';
import type { SchemaChecks } from '../../schemas/index.js';
import type { ToolGroup } from '../../stores/agents.js';
import type { RunRecord } from '../../stores/runs.js';
import { toolGroupsOf } from '../run-agent.js';
import { createArrangeTools } from './arrange.js';
import { createCommentTools } from './comment.js';
import { createCreationTools } from './create.js';
import { createFileTools } from './file.js';
import { createImTools } from './im.js';
import { mcpTools } from './mcp.js';
import { memoryTools } from './memory.js';
import { createCommentReadingTools } from './read-comments.js';
import { READING_TOOLS } from './reading.js';
import { createRowTools } from './rows.js';
import { skillTools } from './skill.js';
import { type Arguments, InvalidArguments, type Tool } from './tool.js';
import { createWebTools } from './web-fetch.js';
import { createWorkItemTools } from './work-item.js';
import { createWriteTools } from './write.js';

/** Returns the tools of one kind for a run. */
export type ToolProvider = (parts: Parts, run: RunRecord) => Promise<readonly Tool[]> | readonly Tool[];

/** The built-in tools by group. A new group is one more entry. */
const BUILT_IN: Readonly<Partial<Record<ToolGroup, (parts: Parts) => readonly Tool[]>>> = {
  search: () => READING_TOOLS.get('search') ?? [],
  read: () => READING_TOOLS.get('read') ?? [],
  write: createWriteTools,
  create: (parts) => [...createCreationTools(parts), ...createArrangeTools(parts)],
  comment: (parts) => [...createCommentReadingTools(parts), ...createCommentTools(parts)],
  table: createRowTools,
  file: createFileTools,
  web_fetch: createWebTools,
  im: createImTools,
  work_item: createWorkItemTools,
};

const builtIn: ToolProvider = async (parts, run) => {
  const groups = await toolGroupsOf(parts, run);
  return groups.flatMap((group) => (BUILT_IN[group]?.(parts) ?? []).map((tool) => ({ ...tool, group })));
};

/**
 * Returns a tool that refuses arguments outside of its schema before it plans a call, so that none of them is lost
 * without notice. Optional arguments may be null, which models send for absent ones.
 */
function checked(tool: Tool, schemas: SchemaChecks, tenant: string): Tool {
  const { parameters } = tool.schema;
  return {
    ...tool,
    async plan(args, context) {
      const fault = await faultOfArguments(schemas, tenant, parameters, withoutNulls(args, parameters));
      if (fault !== undefined) throw new InvalidArguments(fault);
      return tool.plan(args, context);
    },
  };
}

function withoutNulls(args: Arguments, { required }: JsonSchema): Arguments {
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.fromEntries(Object.entries(args).filter(([name, value]) => value !== null || needed.has(name)));
}

const withSchema =
  (provide: ToolProvider): ToolProvider =>
  async (parts, run) =>
    (await provide(parts, run)).map((tool) => checked(tool, parts.schemas, run.tenant));

/** The providers of tools. A new kind is one more entry. */
export const PROVIDERS: ToolProvider[] = [...[builtIn, skillTools, memoryTools].map(withSchema), mcpTools];

/** Returns the tools of a run by name, in an order that is stable between calls. */
export async function toolsOf(parts: Parts, run: RunRecord): Promise<ReadonlyMap<string, Tool>> {
  const lists = await Promise.all(PROVIDERS.map((provide) => provide(parts, run)));
  return new Map(lists.flat().map((tool) => [tool.schema.name, tool]));
}
