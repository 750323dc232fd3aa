import { CreateFileRequest } from '@commonplace/proto/files/v1/file_service.js';
import type { Parts } from '../../parts.js';
import { actOnce, reportConflicts } from './acts.js';
import { nameSchema, optionalId, optionalText, requiredName } from './arguments.js';
import { added, changePlan, diffBlock } from './plans.js';
import { idsOf, isWider, placeOf } from './targets.js';
import { InvalidArguments, type Tool } from './tool.js';
import { MAX_TEXT_LENGTH } from './write.js';

const MAX_TYPE_LENGTH = 255;

const schema = {
  name: 'create_file',
  description: 'Creates a text file, such as CSV, JSON or source code, at the root of the workspace or below a parent.',
  parameters: {
    type: 'object',
    properties: {
      name: nameSchema('With its ending: report.csv'),
      text: { type: 'string' },
      content_type: { type: 'string' },
      parent_id: { type: 'string', description: 'Id of a folder or document; the root when absent.' },
    },
    required: ['name', 'text'],
    additionalProperties: false,
  },
};

export function createFileTools(parts: Pick<Parts, 'index' | 'files'>): Tool[] {
  return [
    {
      schema,
      async plan(args, context) {
        const name = requiredName(args, 'name');
        const place = await placeOf(parts, optionalId(args, 'parent_id'), context);
        const isSink = await isWider(parts, place, context);
        return changePlan(
          schema,
          {
            ...{ action: 'create', risk: 'low', isSink, title: `Create the file “${name}” in ${place.name}` },
            resourceIds: idsOf(place),
          },
          { text: diffBlock(added(textIn(args))), targets: [name, place.name] },
        );
      },
      call: (args, context) =>
        reportConflicts(async () => {
          const name = requiredName(args, 'name');
          const contentBase64 = Buffer.from(textIn(args)).toString('base64');
          const { workspaceId, parentId } = await placeOf(parts, optionalId(args, 'parent_id'), context);
          const contentType = optionalText(args, 'content_type', MAX_TYPE_LENGTH) ?? 'text/plain';
          const request = CreateFileRequest.fromPartial({ name, workspaceId, parentId, contentType, contentBase64 });
          const { resource } = await actOnce(context, 'file:write', args, (options) =>
            parts.files.createFile(request, options),
          );
          const id = resource?.id ?? '';
          return { text: `Created “${name}” with the id ${id}.`, found: [], resourceIds: [id] };
        }),
    },
  ];
}

function textIn(args: Readonly<Record<string, unknown>>): string {
  const text = optionalText(args, 'text', MAX_TEXT_LENGTH);
  if (text === undefined) throw new InvalidArguments('text must be a text.');
  return text;
}
