//! Service `Tools`, as an engine sees it: the list of verbs, and one rpc each that goes to the desk.

use std::sync::Arc;

use mosaic_proto::{
    DESCRIPTORS,
    v1::{
        DescribeReply, DescribeRequest, Done, EditFileRequest, ListDirRequest, ListReply,
        ListRequest, ReadFileRequest, SearchRequest, Tool, ToolReply, WriteFileRequest, tool_reply,
        tools_server::Tools,
    },
};
use tonic::{Request, Response, Status, async_trait};

use super::status::Misfit;
use crate::{
    desk::{Answer, Desk},
    tools::{self, Request as Call},
};

/// Answers on `tools.sock`.
pub(crate) struct ToolsService {
    desk: Arc<Desk>,
}

impl ToolsService {
    /// Verbs that go to `desk`.
    pub(crate) fn new(desk: Arc<Desk>) -> ToolsService {
        ToolsService { desk }
    }

    async fn call(&self, call: Call) -> Result<Response<ToolReply>, Status> {
        let outcome = match self.desk.call(call).await.map_err(Misfit::from)? {
            Answer::Done(text, facts) => tool_reply::Outcome::Done(Done {
                text,
                facts: facts.to_proto(),
            }),
            Answer::Refused(refusal) => tool_reply::Outcome::Refusal(refusal.to_proto()),
        };
        Ok(Response::new(ToolReply {
            outcome: Some(outcome),
        }))
    }
}

#[async_trait]
impl Tools for ToolsService {
    async fn list(&self, _: Request<ListRequest>) -> Result<Response<ListReply>, Status> {
        let policy = self.desk.reach().policy();
        let tools = tools::enabled(policy).into_iter().map(|tool| Tool {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            json_schema: tool.json_schema.to_owned(),
            rpc_path: tool.rpc_path.to_owned(),
        });
        let policy_digest = policy.policy_digest().to_owned();
        Ok(Response::new(ListReply {
            tools: tools.collect(),
            policy_digest,
        }))
    }

    async fn describe(
        &self,
        _: Request<DescribeRequest>,
    ) -> Result<Response<DescribeReply>, Status> {
        Ok(Response::new(DescribeReply {
            file_descriptor_set: DESCRIPTORS.to_vec(),
        }))
    }

    async fn list_dir(
        &self,
        request: Request<ListDirRequest>,
    ) -> Result<Response<ToolReply>, Status> {
        self.call(Call::ListDir(request.into_inner())).await
    }

    async fn read_file(
        &self,
        request: Request<ReadFileRequest>,
    ) -> Result<Response<ToolReply>, Status> {
        self.call(Call::ReadFile(request.into_inner())).await
    }

    async fn search(&self, request: Request<SearchRequest>) -> Result<Response<ToolReply>, Status> {
        self.call(Call::Search(request.into_inner())).await
    }

    async fn write_file(
        &self,
        request: Request<WriteFileRequest>,
    ) -> Result<Response<ToolReply>, Status> {
        self.call(Call::WriteFile(request.into_inner())).await
    }

    async fn edit_file(
        &self,
        request: Request<EditFileRequest>,
    ) -> Result<Response<ToolReply>, Status> {
        self.call(Call::EditFile(request.into_inner())).await
    }
}
