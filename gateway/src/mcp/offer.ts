import type { Caller } from '@commonplace/kit/auth';
import type { Tool as McpTool } from '@modelcontextprotocol/server';
import { opens } from '../middleware/scope.js';
import { isWithinLimit } from '../middleware/workspace-limit.js';
import type { Route } from '../routes.js';
import { effectOf, type Operations } from './api/operations.js';
import type { Tool } from './tools/tool.js';

/** Returns whether a caller's credential can open a route. The service decides what the caller may do there. */
export function mayUse(caller: Caller, route: Route): boolean {
  if (route.scope === 'public') return true;
  return opens(route, caller.credential.scopes) && isWithinLimit(route, caller);
}

/** Returns the routes that a tool uses. Throws if the tool names an operation that the contract does not have. */
export function routesOfTool({ name, operations: names }: Tool, operations: Operations): Route[] {
  return names.map((operation) => {
    const route = operations.get(operation);
    if (route === undefined) throw new Error(`the tool ${name} uses the operation ${operation}, which does not exist`);
    return route;
  });
}

/** Returns the description of a tool in a list of MCP tools. */
export function describeTool(tool: Tool, operations: Operations): McpTool {
  const { name, title, description, properties, required, isOpenWorld = false } = tool;
  const effect = name === 'call' ? effectOf([...operations.values()]) : effectOf(routesOfTool(tool, operations));
  return {
    name,
    title,
    description,
    inputSchema: {
      type: 'object',
      properties: { ...properties } as McpTool['inputSchema']['properties'],
      required: [...required],
      additionalProperties: false,
    },
    annotations: { title, ...effect, openWorldHint: isOpenWorld },
  };
}
