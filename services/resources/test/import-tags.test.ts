import { Timeout } from '@commonplace/kit/errors';
import { ImportItem } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { expect, test } from '@jest/globals';
import { tagsOfItems } from '../src/transfer/import/tags.js';

test('an import waits for a store that is slow, instead of leaving out the tags of its items', async () => {
  let calls = 0;
  const named = async () => {
    if (++calls === 1) throw Timeout();
    return new Map();
  };
  const parts = { tags: { byId: async () => new Map(), named } };
  const subject = { person: { workspaces: new Map() } };
  const items = [ImportItem.fromPartial({ name: 'Page', tags: ['red'] })];
  const tags = tagsOfItems(parts as never, items, 'w', subject as never, {} as never);
  await expect(tags).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
});
