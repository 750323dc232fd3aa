import { isObject } from '@commonplace/kit/json';
import { valuesByName } from '@commonplace/platform/enums';
import {
  ContentFormat,
  ContentMode,
  GetContentRequest,
  ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { lineDiff } from '../../domain/line-diff.js';
import type { Parts } from '../../parts.js';
import { actOnce, reportConflicts } from './acts.js';
import { listOf, oneOf, optionalText, requiredId } from './arguments.js';
import { added, changePlan, diffBlock, PREVIEW_LENGTH } from './plans.js';
import { isWider, targetOf } from './targets.js';
import { type Arguments, InvalidArguments, type Tool, type ToolContext } from './tool.js';

/** Maximum characters of one text that a model writes. Documents have their own limits in bytes. */
export const MAX_TEXT_LENGTH = 1_000_000;
const MAX_EDITS = 100;
/** Characters that no document has, to which some edits of all occurrences can make a text grow. */
const MAX_EDITED_LENGTH = 16_000_000;
const MODES = ['edit', 'append', 'prepend', 'replace'] as const;
type Mode = (typeof MODES)[number];

interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

interface WriteArguments {
  readonly id: string;
  readonly mode: Mode;
  readonly markdown: string;
  readonly edits: readonly Edit[];
}

const schema = {
  name: 'write_document',
  description:
    'Changes the text of a document, which is Markdown. `edit` replaces passages, each of which must be in the document once unless replace_all is true; `append` and `prepend` add text; `replace` replaces the whole text. What was there before is kept as a snapshot.',
  parameters: {
    type: 'object',
    properties: {
      resource_id: { type: 'string', description: 'Id of the document.' },
      mode: { type: 'string', enum: [...MODES] },
      markdown: { type: 'string', description: 'The text to add, or the whole new text. Not for `edit`.' },
      edits: {
        type: 'array',
        description: 'For `edit`: either all are made or none.',
        items: {
          type: 'object',
          properties: {
            old_text: { type: 'string', description: 'The passage as it is in the Markdown.' },
            new_text: { type: 'string' },
            replace_all: { type: 'boolean' },
          },
          required: ['old_text', 'new_text'],
          additionalProperties: false,
        },
      },
    },
    required: ['resource_id', 'mode'],
    additionalProperties: false,
  },
};

type WriteParts = Pick<Parts, 'index' | 'content'>;

export function createWriteTools(parts: WriteParts): Tool[] {
  return [
    {
      schema,
      async plan(args, context) {
        const parsed = readArguments(args);
        const target = await documentOf(parts, parsed.id, context);
        const isSink = await isWider(parts, target, context);
        const diff = await previewOf(parts, parsed, context);
        const adds = parsed.mode === 'append' || parsed.mode === 'prepend';
        const title = `${TITLES[parsed.mode]} “${target.name}”`;
        return changePlan(
          schema,
          { action: 'write', risk: adds ? 'low' : 'medium', isSink, title, resourceIds: [parsed.id] },
          { text: diffBlock(diff), targets: [target.name] },
        );
      },
      call: (args, context) =>
        reportConflicts(async () => {
          const parsed = readArguments(args);
          const target = await documentOf(parts, parsed.id, context);
          const { changed, version } = await actOnce(context, 'content:write', args, (options) =>
            parts.content.replaceContent(requestOf(parsed), options),
          );
          const text = changed ? `“${target.name}” has version ${version} now.` : `“${target.name}” is as it was.`;
          return { text, found: [], resourceIds: [parsed.id] };
        }),
    },
  ];
}

const TITLES: Readonly<Record<Mode, string>> = {
  edit: 'Edit',
  append: 'Add text at the end of',
  prepend: 'Add text at the beginning of',
  replace: 'Replace the text of',
};

const CONTENT_MODES: Readonly<Record<Mode, ContentMode>> = valuesByName(ContentMode);

function readArguments(args: Arguments): WriteArguments {
  const mode = oneOf(args, 'mode', MODES);
  const id = requiredId(args, 'resource_id');
  if (mode === 'edit') return { id, mode, markdown: '', edits: listOf(args, 'edits', 1, MAX_EDITS).map(editIn) };
  const markdown = optionalText(args, 'markdown', MAX_TEXT_LENGTH);
  if (markdown === undefined) throw new InvalidArguments('markdown must be a text.');
  return { id, mode, markdown, edits: [] };
}

function editIn(value: unknown): Edit {
  if (!isObject(value) || typeof value.old_text !== 'string' || typeof value.new_text !== 'string') {
    throw new InvalidArguments('Each of edits must have old_text and new_text.');
  }
  if (value.old_text === '') throw new InvalidArguments('old_text must not be empty.');
  return { oldText: value.old_text, newText: value.new_text, replaceAll: value.replace_all === true };
}

async function documentOf(parts: WriteParts, id: string, context: ToolContext) {
  const target = await targetOf(parts, id, context);
  if (target.type !== ResourceType.DOCUMENT) throw new InvalidArguments(`“${target.name}” is not a document.`);
  return target;
}

function requestOf({ id, mode, markdown, edits }: WriteArguments): ReplaceContentRequest {
  return ReplaceContentRequest.fromPartial({
    resourceId: id,
    mode: CONTENT_MODES[mode],
    ...(mode === 'edit' ? { edits: [...edits], format: ContentFormat.MARKDOWN } : { markdown }),
  });
}

async function previewOf(parts: WriteParts, parsed: WriteArguments, context: ToolContext): Promise<string> {
  const { mode, markdown, edits } = parsed;
  if (mode === 'append' || mode === 'prepend') return added(markdown);
  const before = await markdownOf(parts, parsed.id, context);
  const after = mode === 'replace' ? markdown : edits.reduce(edited, before);
  return lineDiff(before, after, PREVIEW_LENGTH);
}

/**
 * Returns a text after an edit, if the edit applies. The service refuses edits that do not, and those that make a text
 * too long. After a crash this call may already have replaced the passage.
 */
function edited(text: string, { oldText, newText, replaceAll }: Edit): string {
  if (!replaceAll) return text.replace(oldText, () => newText);
  let length = text.length;
  for (let at = text.indexOf(oldText); at >= 0; at = text.indexOf(oldText, at + oldText.length)) {
    length += newText.length - oldText.length;
    if (length > MAX_EDITED_LENGTH) throw new InvalidArguments('The document would be too long.');
  }
  return text.split(oldText).join(newText);
}

async function markdownOf({ content }: WriteParts, resourceId: string, context: ToolContext): Promise<string> {
  const request = GetContentRequest.fromPartial({ resourceId, format: ContentFormat.MARKDOWN });
  const answer = await content.getContent(request, await context.acting(undefined, { scope: 'content:read' }));
  const value: unknown = answer.content.length === 0 ? '' : JSON.parse(answer.content.toString());
  return typeof value === 'string' ? value : '';
}
