import { openMongoDatabase } from './dist/src/store/mongo/index.js';
import { openNatsBus } from './dist/src/events/nats/index.js';
import { startRelay } from './dist/src/events/relay.js';
const name='B'+Date.now(); const t=()=>performance.now();
const database = await openMongoDatabase({ url: process.env.COMMONPLACE_MONGODB_URL, databasePrefix: `test_${name}_` });
const bus = await openNatsBus({ url: process.env.COMMONPLACE_NATS_URL, stream: name });
const store=database.store('s'), ob=database.outbox('s');
const stat={};
const wrap=(k,f)=>async(...a)=>{const s=t(); try{return await f(...a);}finally{const x=(stat[k]??={n:0,ms:0}); x.n++; x.ms+=t()-s; if(Array.isArray(a[0])) x.items=(x.items??0)+a[0].length;}};
const outbox={...ob,pending:wrap('pending',ob.pending),published:wrap('published',ob.published),lead:wrap('lead',ob.lead)};
const bus2={...bus,publishTraced:wrap('publish',bus.publishTraced)};
const relay=startRelay({outbox,bus:bus2});
const ev=(n,sub)=>({specversion:'1.0',id:'e'+name+n,source:'/x',type:'commonplace.x.y.z',subject:sub,time:new Date().toISOString(),datacontenttype:'application/json',data:{n}});
let n=0, stop=false; const col=await store.collection({name:'r',indexes:[]});
const ws=Array.from({length:6},async(_, w)=>{while(!stop){const u=store.begin(); const k=n++; u.insert(col,{id:'r'+k,x:1}); u.publish(ev(k,'w'+w)); await u.commit();}});
for(let i=0;i<8;i++){await new Promise(r=>setTimeout(r,1000)); console.log(n, JSON.stringify((await ob.backlog()).pending), JSON.stringify(Object.fromEntries(Object.entries(stat).map(([k,v])=>[k,[v.n,Math.round(v.ms),v.items]]))));}
stop=true; await Promise.all(ws); await relay.close(); await bus.close(); await database.close(); process.exit(0);
