import { cancelled } from '@commonplace/kit/deadline';
import type { ShareWork } from '@commonplace/kit/http';
import type { State } from '../middleware/state.js';
import type { FairShares } from './index.js';

/** Does work for clients without a credential within the share of their network. Work that waits longer is refused. */
export function shareOfVisitors(fairShares: FairShares, timeoutMs: number): ShareWork {
  return async (ctx, work, bytesOf) => {
    const { clientNetwork } = ctx.state as State;
    const entered = fairShares.enter(clientNetwork, Date.now() + timeoutMs);
    const place = await entered;
    try {
      if (entered instanceof Promise && ctx.res?.destroyed) throw cancelled();
      const result = await work();
      place.bytes = bytesOf(result);
      return result;
    } finally {
      fairShares.leave(place);
    }
  };
}
