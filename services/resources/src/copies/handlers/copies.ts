import type { Handlers } from '@commonplace/kit/rpc';
import { type CopyService, CopyStatus } from '@commonplace/proto/resources/v1/copy_service.js';
import { asSeen, surroundingsOf } from '../../tree/surroundings.js';
import { resourceMessage } from '../../wire.js';
import { copyResource } from '../copy.js';
import type { CopyParts } from '../parts.js';

export function createCopyHandlers(parts: CopyParts): Handlers<CopyService> {
  return {
    async copyResource(request, context) {
      const subject = await parts.policy.subject(context);
      const copied = await copyResource(parts, request, subject, context);
      const seen = await asSeen(parts, copied.head, subject);
      const around = await surroundingsOf(parts, seen, subject);
      if (copied.running) context.reply.status = 202;
      return {
        resource: resourceMessage(seen, { ...around, childCount: copied.children, tags: copied.head.tags }),
        copiedCount: copied.count,
        skipped: [...copied.skipped],
        skippedCount: copied.skippedCount,
        status: copied.running ? CopyStatus.RUNNING : CopyStatus.COMPLETED,
      };
    },
  };
}
