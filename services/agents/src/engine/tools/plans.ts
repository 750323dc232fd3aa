import { fingerprint } from '@commonplace/kit/id';
import { codeBlock } from '../../domain/code-block.js';
import type { ToolSchema } from '../../models/port.js';
import { NO_PREVIEW, type Preview, type ToolPlan } from './tool.js';

/** Maximum characters of a preview. */
export const PREVIEW_LENGTH = 16_000;

/** Returns a hash of a tool's schema; approvals are valid for this hash only. */
export const hashOf = ({ name, description, parameters }: ToolSchema): string =>
  fingerprint(name, description, JSON.stringify(parameters));

/** Returns the plan of a call that changes something, without further effect if it is repeated. */
export function changePlan(
  schema: ToolSchema,
  plan: Pick<ToolPlan, 'action' | 'risk' | 'isSink' | 'title' | 'resourceIds'>,
  preview: Partial<Preview>,
): ToolPlan {
  const { text = '' } = preview;
  const shown = text.length <= PREVIEW_LENGTH ? text : `${text.slice(0, PREVIEW_LENGTH)}\n…`;
  return {
    ...plan,
    effect: 'idempotent',
    preview: { ...NO_PREVIEW, ...preview, text: shown },
    toolHash: hashOf(schema),
  };
}

/** Writes a diff as a Markdown code block. */
export const diffBlock = (diff: string): string => codeBlock(diff, 'diff');

/** Returns a diff in which all lines are new. */
export const added = (text: string): string =>
  text
    .split('\n')
    .map((line) => `+${line}`)
    .join('\n');
