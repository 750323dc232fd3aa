import { UpdateResourceRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import type { Parts } from '../../parts.js';
import { actOnce, reportConflicts } from './acts.js';
import { nameSchema, optionalId, requiredId, requiredName } from './arguments.js';
import { changePlan } from './plans.js';
import { findTarget, idsOf, isWider, placeOf, targetOf } from './targets.js';
import { type Arguments, InvalidArguments, type Tool } from './tool.js';

const arrangeSchema = {
  name: 'arrange_resource',
  description: 'Renames a resource, or moves it with everything below it: to a parent, or to the root.',
  parameters: {
    type: 'object',
    properties: {
      resource_id: { type: 'string' },
      name: nameSchema('The new name.'),
      parent_id: { type: 'string', description: 'Id of the new parent.' },
      to_root: { type: 'boolean', description: 'Moves it to the root of the workspace.' },
    },
    required: ['resource_id'],
    additionalProperties: false,
  },
};

const trashSchema = {
  name: 'trash_resource',
  description: 'Moves a resource with everything below it to the trash, from which people can restore it.',
  parameters: {
    type: 'object',
    properties: { resource_id: { type: 'string' } },
    required: ['resource_id'],
    additionalProperties: false,
  },
};

type ArrangeParts = Pick<Parts, 'index' | 'resources'>;

interface ArrangeArguments {
  readonly id: string;
  readonly name: string | undefined;
  readonly moves: boolean;
  readonly parentId: string | undefined;
}

/** Creates the tools that rename, move and trash resources. */
export function createArrangeTools(parts: ArrangeParts): Tool[] {
  return [arrangeTool(parts), trashTool(parts)];
}

function arrangeTool(parts: ArrangeParts): Tool {
  return {
    schema: arrangeSchema,
    async plan(args, context) {
      const { id, name, moves, parentId } = readArguments(args);
      const target = await targetOf(parts, id, context);
      const place = moves ? await placeOf(parts, parentId, context) : undefined;
      // Moving a resource shows it to the readers of the new place.
      const isSink = await isWider(parts, place ?? target, context, moves ? [id] : []);
      const steps = [
        ...(name === undefined ? [] : [`rename “${target.name}” to “${name}”`]),
        ...(place === undefined ? [] : [`move “${target.name}” to ${place.name}`]),
      ];
      const title = steps.join(' and ').replace(/^./, (first) => first.toUpperCase());
      const targets = [target.name, ...(place === undefined ? [] : [place.name])];
      const resourceIds = [id, ...(place === undefined ? [] : idsOf(place))];
      const plan = { action: 'write', risk: 'medium', isSink, title, resourceIds } as const;
      return changePlan(arrangeSchema, plan, { targets });
    },
    call: (args, context) =>
      reportConflicts(async () => {
        const { id, name, moves, parentId } = readArguments(args);
        const target = await targetOf(parts, id, context);
        if (moves) await placeOf(parts, parentId, context);
        const updateMask = [...(name === undefined ? [] : ['name']), ...(moves ? ['parent_id'] : [])];
        const request = UpdateResourceRequest.fromPartial({ resourceId: id, updateMask, name, parentId });
        const after = await actOnce(context, 'resource:write', args, (options) =>
          parts.resources.updateResource(request, options),
        );
        const where = moves ? ' and is where it should be' : '';
        return { text: `“${target.name}” is called “${after.name}” now${where}.`, found: [], resourceIds: [id] };
      }),
  };
}

function readArguments(args: Arguments): ArrangeArguments {
  const parentId = optionalId(args, 'parent_id');
  const moves = parentId !== undefined || args.to_root === true;
  const name = args.name === undefined ? undefined : requiredName(args, 'name');
  if (name === undefined && !moves) throw new InvalidArguments('Send name, parent_id or to_root.');
  if (parentId !== undefined && args.to_root === true) throw new InvalidArguments('Send parent_id or to_root.');
  return { id: requiredId(args, 'resource_id'), name, moves, parentId };
}

function trashTool(parts: ArrangeParts): Tool {
  return {
    schema: trashSchema,
    async plan(args, context) {
      const id = requiredId(args, 'resource_id');
      // After a crash this call may already have moved the resource to the trash.
      const { name } = (await findTarget(parts, id, context)) ?? { name: id };
      const title = `Move “${name}” with everything below it to the trash`;
      const plan = { action: 'delete', risk: 'high', isSink: true, title, resourceIds: [id] } as const;
      return changePlan(trashSchema, plan, { targets: [name] });
    },
    call: (args, context) =>
      reportConflicts(async () => {
        const id = requiredId(args, 'resource_id');
        // No lookup before the call: when it is repeated after a crash, the resource is in the trash already.
        const { trashedCount } = await actOnce(context, 'resource:write', args, (options) =>
          parts.resources.deleteResource({ resourceId: id }, options),
        );
        const moved = trashedCount === 1 ? '1 resource is' : `${trashedCount} resources are`;
        return { text: `${moved} in the trash now.`, found: [], resourceIds: [id] };
      }),
  };
}
